/* SPDX-License-Identifier: MIT */
/*
 * skills_index.c - lines of a folder's index, as far as bytes can be compared: see
 * skills.h
 *
 * A line begins in one way alone: what chain_head() writes, the name, the file's digest.
 * So it takes no reader of JSON to know which file it is about.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/escape.h"
#include "agent/record/record.h"
#include "agent/skills/skills.h"

#define NAME "\"name\":\""
#define DIGEST "\",\"file_sha256\":\""
#define HEX_DIGITS ((size_t)CHAIN_HEX - 1)

/* keywords of Python 3 that such a name could be; soft ones may be names */
static const char *const keywords[] = {
	"and",    "as",   "assert", "async",  "await",  "break",   "class",    "continue",
	"def",    "del",  "elif",   "else",   "except", "finally", "for",      "from",
	"global", "if",   "import", "in",     "is",     "lambda",  "nonlocal", "not",
	"or",     "pass", "raise",  "return", "try",    "while",   "with",     "yield",
};

bool skill_name_good(const char *name, size_t length)
{
	if (!length || length > SKILL_NAME_MAX || name[0] < 'a' || name[0] > 'z')
		return false;
	for (size_t i = 0; i < length; i++)
		if (!((name[i] >= 'a' && name[i] <= 'z') || name[i] == '_' ||
		      (name[i] >= '0' && name[i] <= '9')))
			return false;
	for (size_t i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++)
		if (strlen(keywords[i]) == length &&
		    memcmp(keywords[i], name, length) == 0)
			return false;
	return true;
}

struct skill *skills_named(const struct skills *s, const char *name)
{
	for (size_t i = 0; i < s->count; i++)
		if (strcmp(s->list[i].name, name) == 0)
			return &s->list[i];
	return NULL;
}

struct skill *skills_entry(struct skills *s, const char *name, size_t length)
{
	char own[SKILL_NAME_MAX + 1] = "";

	memcpy(own, name, length);

	struct skill *one = skills_named(s, own);

	if (one || s->count == SKILLS_KNOWN_MAX)
		return one;
	if (!s->list)
		s->list = calloc(SKILLS_KNOWN_MAX, sizeof(*s->list));
	if (!s->list)
		return NULL;
	one = &s->list[s->count++];
	*one = (struct skill){ .state = SKILL_GONE };
	memcpy(one->name, own, sizeof(own));
	return one;
}

/* the part of a line behind its head: name and digest, or false */
static bool take_head(const char *at, size_t left, const char **name, size_t *length,
		      const char **hex)
{
	if (left < strlen(NAME) || memcmp(at, NAME, strlen(NAME)) != 0)
		return false;
	at += strlen(NAME);
	left -= strlen(NAME);
	*name = at;

	const char *end = memchr(at, '"', left);

	*length = end ? (size_t)(end - at) : 0;
	left -= *length;
	if (!end || left < strlen(DIGEST) + HEX_DIGITS + 1 ||
	    memcmp(end, DIGEST, strlen(DIGEST)) != 0)
		return false;
	*hex = end + strlen(DIGEST);
	for (size_t i = 0; i < HEX_DIGITS; i++)
		if (!strchr("0123456789abcdef", (*hex)[i]) || !(*hex)[i])
			return false;
	return (*hex)[HEX_DIGITS] == '"' && skill_name_good(*name, *length);
}

static int take_line(struct skills *s, uint64_t number, const char *line, size_t length,
		     struct err *e)
{
	cleanup_text struct text head = { 0 };
	const char *name = NULL, *hex = NULL;
	struct chain chain;
	size_t name_length = 0;
	struct err why = { 0 };

	chain_begin(&chain);
	chain_head(&chain, &head);

	if (chain_check(&chain, line, length, &why) == 0 &&
	    !take_head(line + head.length, length - head.length, &name, &name_length,
		       &hex))
		(void)err_say(&why, EBADMSG, "it names no file and no digest");
	if (!hex || why.text[0]) {
		s->misfits++;
		text_printf(&s->notes, "skills: " SKILLS_INDEX ", line %" PRIu64 ": %s\n",
			    number, why.text);
		return 0;
	}

	struct skill *one = skills_entry(s, name, name_length);

	if (!one)
		return err_say(e, E2BIG, "more than %d of them", SKILLS_KNOWN_MAX);
	/* the one that has the digest of what is there; of several, the last */
	if (one->state == SKILL_UNLISTED)
		one->state = SKILL_CHANGED;
	if (!one->sha256[0] || memcmp(one->sha256, hex, HEX_DIGITS) != 0)
		return 0;
	one->state = SKILL_FITS;
	one->at = ++s->fitted;
	text_clear(&one->line);
	text_add(&one->line, line, length);
	return text_check(&one->line, "a line of the index", e);
}

int skills_take_index(struct skills *s, const char *bytes, size_t length, struct err *e)
{
	uint64_t number = 0;
	int r = 0;

	s->half = length && bytes[length - 1] != '\n';
	while (r == 0 && length) {
		const char *end = memchr(bytes, '\n', length);
		size_t line = end ? (size_t)(end - bytes) : length;

		number++;
		if (line)
			r = take_line(s, number, bytes, line, e);
		line += end ? 1 : 0;
		bytes += line;
		length -= line;
	}
	return r;
}

int skills_line(const char *name, const char *sha256, const cJSON *members,
		struct text *line, struct err *e)
{
	cleanup_text struct text inner = { 0 };
	cleanup_text struct text rest = { 0 };
	struct chain chain;
	int r = record_print(members, &rest, e);

	if (r < 0)
		return r;
	text_printf(&inner, NAME "%s" DIGEST "%s\",", name, sha256);
	text_add(&inner, rest.bytes + 1, rest.length - 2);
	r = text_check(&inner, "a line of the index", e);
	if (r < 0)
		return r;
	chain_begin(&chain);
	chain_seal(&chain, text_string(&inner), line);
	return text_check(line, "a line of the index", e);
}
