/* SPDX-License-Identifier: MIT */
/*
 * stream.c - a jail's bytes as they come, made harmless: see stream.h
 */
#include <string.h>

#include "agent/base/escape.h"
#include "agent/base/stream.h"
#include "agent/base/utf8.h"

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
