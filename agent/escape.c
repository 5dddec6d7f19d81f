/* SPDX-License-Identifier: MIT */
/*
 * escape.c - bytes made harmless to look at: see escape.h
 */
#include <string.h>

#include "agent/escape.h"
#include "agent/utf8.h"

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
	{ 0xe0000, 0xe0fff, "tags and variation selectors: text that is not seen" },
};

bool escape_hides(uint32_t point)
{
	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
		if (point >= hidden[i].first && point <= hidden[i].last)
			return true;
	return false;
}

void escape_line(struct text *out, const void *bytes, size_t length)
{
	const unsigned char *at = bytes;

	while (length) {
		uint32_t point;
		size_t n = utf8_decode(at, length, &point);

		if (!n) {
			text_printf(out, "\\x%02x", at[0]);
			n = 1;
		} else if (!escape_hides(point)) {
			text_add(out, at, n);
		} else if (point == '\n') {
			text_puts(out, "\\n");
		} else if (point == '\r') {
			text_puts(out, "\\r");
		} else if (point < 0x100) {
			text_printf(out, "\\x%02x", point);
		} else {
			text_printf(out, point < 0x10000 ? "\\u%04x" : "\\U%08x", point);
		}
		at += n;
		length -= n;
	}
}

void escape_lines(struct text *out, const char *prefix, const void *bytes, size_t length)
{
	const char *at = bytes;

	while (length) {
		const char *end = memchr(at, '\n', length);
		size_t line = end ? (size_t)(end - at) : length;
		size_t shown = line;

		if (end && shown && at[shown - 1] == '\r')
			shown--;
		text_puts(out, prefix);
		escape_line(out, at, shown);
		text_puts(out, "\n");
		line += end ? 1 : 0;
		at += line;
		length -= line;
	}
}
