/* SPDX-License-Identifier: MIT */
/*
 * utf8.c - UTF-8, checked: see utf8.h
 */
#include "agent/base/utf8.h"

/* of a character that begins so; 0 where none does */
static size_t length_of(unsigned char first)
{
	if (first < 0x80)
		return 1;
	return first < 0xc0 || first >= 0xf8 ? 0
	       : first < 0xe0                ? 2
	       : first < 0xf0                ? 3
					     : 4;
}

size_t utf8_decode(const unsigned char *bytes, size_t left, uint32_t *point)
{
	/* by length: what is less is an overlong form */
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n = length_of(bytes[0]);
	uint32_t value = n > 1 ? bytes[0] & 0x7fU >> n : bytes[0];

	if (left < n)
		return 0;
	for (size_t k = 1; k < n; k++) {
		if ((bytes[k] & 0xc0) != 0x80)
			return 0;
		value = value << 6 | (bytes[k] & 0x3f);
	}
	if (!n || value < least[n] || value > 0x10ffff ||
	    (value >= 0xd800 && value <= 0xdfff))
		return 0;
	*point = value;
	return n;
}

/* how many bytes at the beginning are characters, NUL one of them or not */
static size_t good(const unsigned char *bytes, size_t length, bool nul)
{
	size_t at = 0, n = 1;
	uint32_t point;

	for (; n && at < length; at += n) {
		n = utf8_decode(bytes + at, length - at, &point);
		if (n && !point && !nul)
			n = 0;
	}
	return at;
}

bool utf8_valid(const void *bytes, size_t length)
{
	return good(bytes, length, true) == length;
}

void utf8_mend(struct text *out, const void *bytes, size_t length)
{
	for (const unsigned char *at = bytes; length; at++, length--) {
		size_t n = good(at, length, false);

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

	for (size_t back = 1; back <= 3 && back <= length; back++) {
		unsigned char c = end[-(ptrdiff_t)back];

		if ((c & 0xc0) != 0x80)
			return length_of(c) > back ? back : 0;
	}
	return 0;
}

size_t utf8_floor(const char *bytes, size_t length, size_t limit)
{
	return length <= limit ? length : limit - utf8_unfinished(bytes, limit);
}
