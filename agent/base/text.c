/* SPDX-License-Identifier: MIT */
/*
 * text.c - a growing, bounded string: see text.h
 */
#include <nettle/base64.h>
#include <stdbool.h>

#include "agent/base/memory.h"
#include "agent/base/text.h"

#define FIRST_ROOM 256

struct span span_line(struct span *rest)
{
	const char *end = memchr(rest->at, '\n', rest->length);
	struct span line = { rest->at, end ? (size_t)(end - rest->at) : rest->length };

	*rest = span_skip(*rest, line.length + (end ? 1 : 0));
	if (end && line.length && end[-1] == '\r')
		line.length--;
	return line;
}

struct span span_skip(struct span s, size_t n)
{
	return (struct span){ s.at + n, s.length - n };
}

void text_free(struct text *t)
{
	free(t->bytes);
	*t = (struct text){ .max = t->max };
}

void text_clear(struct text *t)
{
	t->length = 0;
	t->failed = 0;
	if (t->bytes)
		t->bytes[0] = '\0';
}

/* room for @more bytes and the NUL behind them */
static bool make_room(struct text *t, size_t more)
{
	size_t max = t->max ? t->max : TEXT_MAX_BYTES;

	if (t->failed)
		return false;
	if (more > max - t->length) {
		t->failed = E2BIG;
		return false;
	}
	if (t->length + more < t->room)
		return true;

	size_t room = t->room ? t->room : FIRST_ROOM;

	while (room <= t->length + more)
		room *= 2;

	t->bytes = memory_grow(t->bytes, room);
	t->room = room;
	return true;
}

void text_add(struct text *t, const void *bytes, size_t length)
{
	if (!make_room(t, length))
		return;
	if (length)
		memcpy(t->bytes + t->length, bytes, length);
	t->length += length;
	t->bytes[t->length] = '\0';
}

void text_puts(struct text *t, const char *string)
{
	text_add(t, string, strlen(string));
}

void text_printf(struct text *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);

	char *line = memory_vprintf(fmt, ap);

	va_end(ap);
	text_puts(t, line);
	free(line);
}

void text_base64(struct text *t, const void *bytes, size_t length)
{
	size_t more = BASE64_ENCODE_RAW_LENGTH(length);

	if (!make_room(t, more))
		return;
	base64_encode_raw(t->bytes + t->length, length, bytes);
	t->length += more;
	t->bytes[t->length] = '\0';
}

const char *text_string(const struct text *t)
{
	return t->bytes ? t->bytes : "";
}

int text_check(const struct text *t, const char *what, struct err *e)
{
	if (!t->failed)
		return 0;
	return err_say(e, t->failed, "%s: longer than %zu bytes", what,
		       t->max ? t->max : TEXT_MAX_BYTES);
}
