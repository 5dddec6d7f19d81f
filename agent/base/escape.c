/* SPDX-License-Identifier: MIT */
/*
 * escape.c - bytes made harmless to look at: see escape.h
 */

#include "agent/base/escape.h"
#include "agent/base/utf8.h"

/* in order of code points; each row says what it keeps away */
static const struct {
	uint32_t first, last;
	const char *why;
} hidden[] = {
	{ 0x0000, 0x0008, "C0 controls" },
	{ 0x000a, 0x001f, "C0 controls after tab: newline, return, escape" },
	{ 0x007f, 0x009f, "DEL and C1 controls: U+009B is another CSI" },
	{ 0x00ad, 0x00ad, "soft hyphen: invisible" },
	{ 0x034f, 0x034f, "combining grapheme joiner: invisible" },
	{ 0x061c, 0x061c, "Arabic letter mark: direction" },
	{ 0x115f, 0x1160, "Hangul fillers: invisible" },
	{ 0x17b4, 0x17b5, "Khmer inherent vowels: invisible" },
	{ 0x180b, 0x180f, "Mongolian selectors and vowel separator: invisible" },
	{ 0x200b, 0x200f, "zero width characters and direction marks" },
	{ 0x2028, 0x202e, "line and paragraph separators, bidi embeddings, overrides" },
	{ 0x2060, 0x206f, "word joiner, invisible operators, bidi isolates" },
	{ 0x3164, 0x3164, "Hangul filler: invisible" },
	{ 0xfe00, 0xfe0d, "variation selectors but text and emoji: carry hidden bits" },
	{ 0xfeff, 0xfeff, "byte order mark: zero width" },
	{ 0xffa0, 0xffa0, "half width Hangul filler: invisible" },
	{ 0xfff0, 0xfffb, "unassigned specials, interlinear annotation" },
	{ 0x13430, 0x1345f, "Egyptian format controls" },
	{ 0x1bca0, 0x1bca3, "shorthand format controls: invisible" },
	{ 0x1d173, 0x1d17a, "musical beams and slurs: invisible" },
	{ 0xe0000, 0xe0fff, "tags and variation selectors: text that is not seen" },
};

bool escape_hides(uint32_t point)
{
	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
		if (point >= hidden[i].first && point <= hidden[i].last)
			return true;
	return false;
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
	char quote;

	escape_line(&line, bytes, shown);
	escape_turns(&name, &line);
	quote = memchr(bytes, '\'', shown) && !memchr(bytes, '"', shown) ? '"' : '\'';
	text_add(out, &quote, 1);
	for (size_t i = 0; i < name.length; i++)
		if (name.bytes[i] == quote)
			text_puts(out, "\\x27");
		else
			text_add(out, name.bytes + i, 1);
	text_puts(out, shown < length ? "..." : "");
	text_add(out, &quote, 1);
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
 * what a message says, too. The beginning is enough.
 */
static const char *const turns[] = {
	"<|",            /* ChatML, Llama 3, Phi, gpt-oss */
	"<\xef\xbd\x9c", /* DeepSeek: a wide bar */
	"[INST]",
	"[/INST]",
	"[SYSTEM_PROMPT]", /* Mistral */
	"[/SYSTEM_PROMPT]",
	"[TOOL_", /* Mistral */
	"<<SYS>>",
	"<</SYS>>", /* Llama 2 */
	"<s>",
	"</s>",
	"<bos>",
	"<eos>", /* of a whole text */
	"<start_of_turn>",
	"<end_of_turn>", /* Gemma */
	"<tool_",
	"</tool_",
	"<think>",
	"</think>", /* Qwen and others */
	"[gMASK]",  /* GLM */
};

static bool is_turn(const char *at, size_t length)
{
	for (size_t i = 0; i < sizeof(turns) / sizeof(turns[0]); i++)
		if (strlen(turns[i]) <= length &&
		    memcmp(at, turns[i], strlen(turns[i])) == 0)
			return true;
	return false;
}

void escape_turns(struct text *out, const struct text *theirs)
{
	const char *at = text_string(theirs);
	size_t plain = 0; /* bytes before at that are still to be added */

	for (size_t length = theirs->length; length; at++, length--) {
		if ((*at != '<' && *at != '[') || !is_turn(at, length)) {
			plain++;
			continue;
		}
		text_add(out, at - plain, plain);
		text_printf(out, "\\x%02x", (unsigned char)*at);
		plain = 0;
	}
	text_add(out, at - plain, plain);
	out->failed = out->failed ? out->failed : theirs->failed;
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
