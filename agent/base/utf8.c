/* SPDX-License-Identifier: MIT */
/*
 * utf8.c - UTF-8, checked: see utf8.h
 */
#include "agent/base/utf8.h"

/* by first byte; least is what keeps overlong forms out */
static const struct {
	unsigned char mask, lead;
	unsigned char bytes;
	uint32_t least;
} forms[] = {
	{ 0x80, 0x00, 1, 0x0 },
	{ 0xe0, 0xc0, 2, 0x80 },
	{ 0xf0, 0xe0, 3, 0x800 },
	{ 0xf8, 0xf0, 4, 0x10000 },
};

size_t utf8_decode(const unsigned char *bytes, size_t left, uint32_t *point)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if ((bytes[0] & forms[i].mask) != forms[i].lead)
			continue;
		if (left < forms[i].bytes)
			return 0;

		uint32_t value = bytes[0] & (unsigned char)~forms[i].mask;

		for (size_t k = 1; k < forms[i].bytes; k++) {
			if ((bytes[k] & 0xc0) != 0x80)
				return 0;
			value = value << 6 | (bytes[k] & 0x3f);
		}
		if (value < forms[i].least || value > 0x10ffff ||
		    (value >= 0xd800 && value <= 0xdfff))
			return 0;
		*point = value;
		return forms[i].bytes;
	}
	return 0;
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
		size_t need = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;

		if (c < 0x80)
			return 0;
		if (c >= 0xc0)
			return need > back ? back : 0;
	}
	return 0;
}

size_t utf8_floor(const char *bytes, size_t length, size_t limit)
{
	return length <= limit ? length : limit - utf8_unfinished(bytes, limit);
}
