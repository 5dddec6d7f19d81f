/* SPDX-License-Identifier: MIT */
/*
 * json.c - write JSON to a stream: see json.h
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "jail/base/json.h"

int json_decode(const unsigned char *at, size_t left, uint32_t *point)
{
	static const struct {
		unsigned char mask, lead;
		uint32_t min;
	} forms[] = {
		{ 0x80, 0x00, 0 },
		{ 0xe0, 0xc0, 0x80 },
		{ 0xf0, 0xe0, 0x800 },
		{ 0xf8, 0xf0, 0x10000 },
	};

	for (int more = 0; more < 4; more++) {
		if ((at[0] & forms[more].mask) != forms[more].lead)
			continue;
		*point = at[0] & (unsigned char)~forms[more].mask;
		for (int i = 1; i <= more; i++) {
			if ((size_t)i >= left || (at[i] & 0xc0) != 0x80)
				return 0;
			*point = *point << 6 | (at[i] & 0x3f);
		}
		if (*point < forms[more].min || *point > 0x10ffff ||
		    (*point >= 0xd800 && *point <= 0xdfff))
			return 0;
		return more + 1;
	}
	return 0;
}

static void put_point(FILE *out, uint32_t point)
{
	if (point >= 0x10000) {
		(void)fprintf(out, "\\u%04x", 0xd800 + ((point - 0x10000) >> 10));
		point = 0xdc00 + ((point - 0x10000) & 0x3ff);
	}
	(void)fprintf(out, "\\u%04x", point);
}

void json_bytes(FILE *out, const void *bytes, size_t length)
{
	const unsigned char *at = bytes;

	(void)fputc('"', out);
	while (length) {
		uint32_t point = 0;
		int n = json_decode(at, length, &point);

		if (n == 0) /* one bad byte, one replacement character */
			put_point(out, 0xfffd);
		else if (point == '"' || point == '\\')
			(void)fprintf(out, "\\%c", (int)point);
		else if (point >= ' ' && point < 0x7f)
			(void)fputc((int)point, out);
		else
			put_point(out, point);
		n = n ? n : 1;
		at += n;
		length -= (size_t)n;
	}
	(void)fputc('"', out);
}

FILE *json_open(char **text, size_t size)
{
	*text = calloc(1, size);
	return *text ? fmemopen(*text, size, "w") : NULL;
}

ssize_t json_close(FILE *out, const char *text, size_t size)
{
	int r = fclose(out);
	size_t length = strnlen(text, size);

	/* if the memory is full to its last byte, text may have been dropped */
	return r != 0 || length + 1 >= size ? -ENOSPC : (ssize_t)length;
}

void json_after(const char *words, const char *text, FILE *out)
{
	(void)fputs(words, out);
	if (text)
		json_bytes(out, text, strlen(text));
	else
		(void)fputs("null", out);
}

void json_number(const char *words, bool known, uint64_t n, FILE *out)
{
	if (known)
		(void)fprintf(out, "%s%" PRIu64, words, n);
	else
		(void)fprintf(out, "%snull", words);
}
