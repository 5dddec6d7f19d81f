/* SPDX-License-Identifier: MIT */
/*
 * escape.c - bytes made harmless to look at: see escape.h
 */

#include <regex.h>
#include <stdlib.h>
#include <unictype.h>

#include "agent/base/escape.h"
#include "agent/base/utf8.h"

bool escape_hides(uint32_t point)
{
	const uint32_t moves =
		UC_CATEGORY_MASK_Cc | UC_CATEGORY_MASK_Zl | UC_CATEGORY_MASK_Zp;

	/* fillers, joiners, marks of direction, tags, selectors but for text and emoji */
	if (uc_is_property_default_ignorable_code_point(point))
		return point != 0xfe0e && point != 0xfe0f;
	/* what steers notes between lines, and Egyptian signs: invisible, too */
	if ((point >= 0xfff9 && point <= 0xfffb) ||
	    (point >= 0x13430 && point <= 0x1345f))
		return true;
	return point != '\t' && uc_is_general_category_withtable(point, moves);
}

/* one selector of text or emoji, behind what has both forms: more would be hidden bits */
static bool is_stray_selector(uint32_t point, uint32_t before)
{
	bool has_forms = before >= 0x203c || before == 0xa9 || before == 0xae ||
			 before == '#' || before == '*' ||
			 (before >= '0' && before <= '9');

	return (point == 0xfe0e || point == 0xfe0f) &&
	       (!has_forms || before == 0xfe0e || before == 0xfe0f);
}

void escape_line(struct text *out, const void *bytes, size_t length)
{
	const unsigned char *at = bytes;
	uint32_t before = 0;

	while (length) {
		uint32_t point = 0;
		size_t n = utf8_decode(at, length, &point);

		if (!n) {
			text_printf(out, "\\x%02x", at[0]);
			n = 1;
		} else if (!escape_hides(point) && !is_stray_selector(point, before)) {
			text_add(out, at, n);
		} else if (point == '\n' || point == '\r') {
			text_puts(out, point == '\n' ? "\\n" : "\\r");
		} else {
			text_printf(out,
				    point < 0x100     ? "\\x%02x"
				    : point < 0x10000 ? "\\u%04x"
						      : "\\U%08x",
				    point);
		}
		before = point;
		at += n;
		length -= n;
	}
}

void escape_name(struct text *out, const void *bytes, size_t length)
{
	size_t shown = utf8_floor(bytes, length, ESCAPE_NAME_MAX);
	cleanup_text struct text line = { 0 };
	cleanup_text struct text name = { 0 };

	escape_line(&line, bytes, shown);
	escape_turns(&name, &line);

	char quote =
		memchr(bytes, '\'', shown) && !memchr(bytes, '"', shown) ? '"' : '\'';

	text_add(out, &quote, 1);
	for (size_t i = 0; i < name.length; i++)
		if (name.bytes[i] == quote)
			text_puts(out, "\\x27");
		else
			text_add(out, name.bytes + i, 1);
	text_puts(out, shown < length ? "..." : "");
	text_add(out, &quote, 1);
}

void escape_quote(struct text *out, const char *words)
{
	if (!*words)
		return;
	text_puts(out, ": ");
	escape_name(out, words, strlen(words));
}

void escape_lines(struct text *out, const char *prefix, const void *bytes, size_t length)
{
	struct span rest = { bytes, length };

	while (rest.length) {
		struct span line = span_line(&rest);

		text_puts(out, prefix);
		escape_line(out, line.at, line.length);
		text_puts(out, "\n");
	}
}

/*
 * What servers of open models part a conversation's turns with, where they look for it in
 * what a message says, too. Each model has marks of its own, and the next one has others:
 * what they have in common is their form. It was chosen so that no tag of HTML and
 * nothing that Python prints of its objects has it (test_agent_text.c): between < and >
 * there is one word, no attribute, and the word is not one of a document.
 */
static const char turns[] =
	/* ChatML, Llama 3, Phi, gpt-oss; DeepSeek, with a wide bar; EXAONE */
	"<([|]|\xef\xbd\x9c)|[[][|]"
	/* a name with an underscore: Gemma, Qwen, Baichuan, Nemotron, GLM */
	"|</?[A-Za-z0-9.:-]*_[A-Za-z0-9_.:-]*>"
	/* beginning, end or start of something: Llama 2, InternLM, ChatGLM, Seed; a
	 * number of a reserve; who speaks or thinks; a whole text, and what stands for a
	 * word */
	"|</?([A-Za-z]+:)?([BbEeSs][Oo][A-Za-z]|[A-Za-z]{3,}[0-9]+|s|[Tt]hink(ing)?|[Uu]ser|[Aa]ssistant|[Ss]ystem|[Hh]uman|[Bb]ot|[Rr]ole|[Tt]ools?|unk|pad|mask|sep|cls)>"
	/* a call: Qwen and Llama */
	"|<[a-z_]{3,}=[A-Za-z0-9_.-]+>"
	/* capitals: Llama 2; Falcon; Mistral, and ChatGLM */
	"|<</?[A-Z]+>>|>>[A-Z]+<<|[[]/?[a-z]?[A-Z][A-Z0-9_]{2,}[]]"
	/* MiniMax */
	"|[]]~!?[a-z]+[][]|[[][a-z]+~[[]";

void escape_turns(struct text *out, const struct text *theirs)
{
	static regex_t form;
	static bool made;
	const char *at = text_string(theirs), *end = at + theirs->length;
	regmatch_t found;
	int r;

	if (!made && regcomp(&form, turns, REG_EXTENDED) != 0)
		abort(); /* the pattern is wrong, or there is no memory: memory.h */
	made = true;
	while ((r = regexec(&form, at, 1, &found, 0)) == 0) {
		text_add(out, at, (size_t)found.rm_so);
		at += found.rm_so;
		text_printf(out, "\\x%02x", (unsigned char)*at++);
	}
	text_add(out, at, (size_t)(end - at));
	out->failed = r != REG_NOMATCH ? E2BIG
		      : out->failed    ? out->failed
				       : theirs->failed;
}

size_t escape_cells(uint32_t point, size_t column)
{
	if (point == '\t')
		return 8 - column % 8;
	return point < 0x1100 ? 1 : 2;
}

static void add(struct stream *s, const char *at, size_t length, struct text *out)
{
	const char *last = length ? memrchr(at, '\n', length) : NULL;
	size_t lines = last ? (size_t)(last + 1 - at) : 0;

	escape_lines(out, "", at, lines);
	escape_line(out, at + lines, length - lines);
	if (length)
		s->mid_line = lines < length;
}

void stream_add(struct stream *s, const void *bytes, size_t length, struct text *out)
{
	cleanup_text struct text all = { 0 };

	text_add(&all, s->held, s->held_bytes);
	text_add(&all, bytes, length);

	/* bytes at the end that may be the beginning of something: a character, "\r\n" */
	size_t rest = all.length && all.bytes[all.length - 1] == '\r'
			      ? 1
			      : utf8_unfinished(text_string(&all), all.length);

	add(s, text_string(&all), all.length - rest, out);
	memcpy(s->held, text_string(&all) + all.length - rest, rest);
	s->held_bytes = rest;
}

void stream_end(struct stream *s, struct text *out)
{
	add(s, s->held, s->held_bytes, out);
	s->held_bytes = 0;
}
