/* SPDX-License-Identifier: MIT */
/*
 * stream.c - a jail's bytes as they come, made harmless: see stream.h
 */
#include <string.h>

#include "agent/base/escape.h"
#include "agent/base/stream.h"
#include "agent/base/utf8.h"

/* bytes at the end that may be the beginning of something: a character, "\r\n" */
static size_t unfinished(const char *at, size_t length)
{
	if (length && at[length - 1] == '\r')
		return 1;
	for (size_t back = 1; back <= 3 && back <= length; back++) {
		unsigned char c = (unsigned char)at[length - back];
		size_t need = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;

		if (c < 0x80)
			return 0;
		if (c >= 0xc0)
			return need > back ? back : 0;
	}
	return 0;
}

static void add(struct stream *s, const char *at, size_t length, struct text *out)
{
	while (length) {
		const char *end = memchr(at, '\n', length);
		size_t line = end ? (size_t)(end - at) : length;
		size_t shown = end && line && at[line - 1] == '\r' ? line - 1 : line;

		escape_line(out, at, shown);
		if (end)
			text_puts(out, "\n");
		s->mid_line = !end;
		line += end ? 1 : 0;
		at += line;
		length -= line;
	}
}

void stream_add(struct stream *s, const void *bytes, size_t length, struct text *out)
{
	cleanup_text struct text all = { 0 };

	text_add(&all, s->held, s->held_bytes);
	text_add(&all, bytes, length);

	size_t rest = unfinished(text_string(&all), all.length);

	add(s, text_string(&all), all.length - rest, out);
	memcpy(s->held, text_string(&all) + all.length - rest, rest);
	s->held_bytes = rest;
}

void stream_end(struct stream *s, struct text *out)
{
	add(s, s->held, s->held_bytes, out);
	s->held_bytes = 0;
}
