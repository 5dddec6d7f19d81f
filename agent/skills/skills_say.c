/* SPDX-License-Identifier: MIT */
/*
 * skills_say.c - what an index says of saved functions: for the model, the transcript,
 * and a replay. See skills.h
 */
#include <errno.h>
#include <string.h>

#include "agent/base/escape.h"
#include "agent/base/utf8.h"
#include "agent/loop/prompt.h"
#include "agent/record/inputs.h"
#include "agent/record/record.h"
#include "agent/skills/skills.h"

#define SIGNATURE_BYTES 200
#define DOC_BYTES 200
#define ORIGIN_BYTES 80
#define HASH_DIGITS 16 /* of a digest, where it is to be looked at */

int skills_read(struct skills *s, struct err *e)
{
	for (size_t i = 0; i < s->count; i++) {
		struct skill *one = &s->list[i];

		if (one->state != SKILL_FITS || one->told)
			continue;
		one->told =
			cJSON_ParseWithLength(text_string(&one->line), one->line.length);
		if (!cJSON_IsObject(one->told))
			return err_say(e, EBADMSG,
				       "skills: the index's line of %s is no JSON",
				       one->name);
	}
	return 0;
}

void skills_string(const struct skill *one, bool inside, const char *name, size_t max,
		   struct text *out)
{
	const cJSON *from = inside ? cJSON_GetObjectItemCaseSensitive(one->told, "origin")
				   : one->told;
	const cJSON *s = cJSON_GetObjectItemCaseSensitive(from, name);
	size_t length, shown;

	if (!cJSON_IsString(s))
		return;
	length = strlen(s->valuestring);
	shown = utf8_floor(s->valuestring, length, max);
	escape_line(out, s->valuestring, shown);
	text_puts(out, shown < length ? "..." : "");
}

static void add_one(const struct skill *one, struct text *out)
{
	text_puts(out, ESCAPE_MARK);
	skills_string(one, false, "signature", SIGNATURE_BYTES, out);
	text_puts(out, "\n" ESCAPE_MARK "    ");
	skills_string(one, false, "doc", DOC_BYTES, out);
	text_puts(out, "\n" ESCAPE_MARK "    saved ");
	skills_string(one, true, "time", ORIGIN_BYTES, out);
	text_puts(out, " in the task \"");
	skills_string(one, true, "task", ORIGIN_BYTES, out);
	text_printf(out, "\", sha256 %.*s\n", HASH_DIGITS, one->sha256);
}

static const char how_to_save[] =
	"\nTo save a function for later tasks, make the folder /work/skills_new, and write the function to /work/skills_new/NAME.py: imports, constants, and one function NAME (small letters, digits and _; its helpers begin with _), whose docstring has examples as of an interactive session, with what comes of them. When you have answered, it is tried in a fresh sandbox, and kept if all of its examples hold. Save only what is of use beyond this task.\n";

void skills_prompt(const struct skills *s, bool save, struct text *out)
{
	cleanup_text struct text theirs = { 0 };

	if (s->bind_count)
		text_puts(
			out,
			"\nFunctions that earlier tasks saved can be imported, each from a module of its own name, as in: from skills.NAME import NAME. They are:\n");
	for (size_t i = 0; i < s->count; i++)
		if (s->list[i].offered)
			add_one(&s->list[i], &theirs);
	escape_turns(out, text_string(&theirs), theirs.length);
	if (theirs.failed && !out->failed)
		out->failed = theirs.failed;
	if (save && s->index_fd >= 0)
		text_puts(out, how_to_save);
}

cJSON *skills_record(const struct skills *s)
{
	cJSON *o = cJSON_CreateObject();
	cJSON *list = cJSON_AddArrayToObject(o, "offered");

	record_string(o, "dir", text_string(&s->dir), s->dir.length);
	for (size_t i = 0; list && i < s->count; i++) {
		const struct skill *one = &s->list[i];
		cJSON *entry = one->offered ? cJSON_CreateObject() : NULL;

		if (!entry)
			continue;
		(void)cJSON_AddItemToArray(list, entry);
		(void)cJSON_AddStringToObject(entry, "name", one->name);
		(void)cJSON_AddStringToObject(entry, "sha256", one->sha256);
	}
	return o;
}

static int again(struct skills *s, const char *dir, const cJSON *entry,
		 void (*differs)(void *arg, const char *line), void *arg, struct err *e)
{
	const cJSON *name = cJSON_GetObjectItemCaseSensitive(entry, "name");
	const cJSON *was = cJSON_GetObjectItemCaseSensitive(entry, "sha256");
	cleanup_text struct text path = { 0 };
	cleanup_text struct text line = { 0 };
	char hex[CHAIN_HEX];
	struct err why = { 0 };
	uint64_t bytes;

	if (!cJSON_IsString(name) || !cJSON_IsString(was) ||
	    !skill_name_good(name->valuestring, strlen(name->valuestring)))
		return err_say(e, EBADMSG,
			       "the transcript's list of saved functions makes no sense");
	text_printf(&path, "%s/%s.py", dir, name->valuestring);
	if (inputs_digest(text_string(&path), hex, &bytes, &why) == 0) {
		if (strcmp(hex, was->valuestring) == 0)
			return skills_bind(s, dir, name->valuestring, e);
		(void)err_say(&why, ESTALE, "its sha256 was %.64s, is %s",
			      was->valuestring, hex);
	}
	text_printf(&line, "saved function %s: not what it was, and left out: %s",
		    name->valuestring, why.text);
	differs(arg, text_string(&line));
	return 0;
}

int skills_again(struct skills *s, const cJSON *recorded,
		 void (*differs)(void *arg, const char *line), void *arg, struct err *e)
{
	const cJSON *dir = cJSON_GetObjectItemCaseSensitive(recorded, "dir");
	const cJSON *entry = NULL;
	int r = 0;

	if (!recorded)
		return 0;
	if (!cJSON_IsString(dir) || dir->valuestring[0] != '/')
		return err_say(
			e, EBADMSG,
			"the transcript does not say where its saved functions were");
	cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(recorded, "offered"))
	{
		if (r == 0)
			r = again(s, dir->valuestring, entry, differs, arg, e);
	}
	return r;
}
