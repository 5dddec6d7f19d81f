/* SPDX-License-Identifier: MIT */
/*
 * utf8.c - UTF-8, checked: see utf8.h
 */
#include <unistr.h>

#include "agent/base/utf8.h"

size_t utf8_decode(const unsigned char *bytes, size_t left, uint32_t *point)
{
	int n = u8_mbtoucr(point, bytes, left);

	return n > 0 ? (size_t)n : 0;
}

bool utf8_valid(const void *bytes, size_t length)
{
	return !u8_check(bytes, length);
}

/* how many bytes at the beginning are characters, and none of them NUL */
static size_t good(const unsigned char *bytes, size_t length)
{
	size_t at = 0, n;
	uint32_t point;

	while (at < length && (n = utf8_decode(bytes + at, length - at, &point)) && point)
		at += n;
	return at;
}

void utf8_mend(struct text *out, const void *bytes, size_t length)
{
	for (const unsigned char *at = bytes; length; at++, length--) {
		size_t n = good(at, length);

		text_add(out, at, n);
		at += n;
		length -= n;
		if (!length)
			return;
		text_puts(out, "\xef\xbf\xbd");
	}
}

size_t utf8_unfinished(const void *bytes, size_t length)
{
	const unsigned char *end = (const unsigned char *)bytes + length;
	uint32_t point;

	for (size_t back = 1; back <= 3 && back <= length; back++)
		if (u8_mbtoucr(&point, end - back, back) == -2)
			return back;
	return 0;
}

size_t utf8_floor(const char *bytes, size_t length, size_t limit)
{
	return length <= limit ? length : limit - utf8_unfinished(bytes, limit);
}
