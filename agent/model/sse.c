/* SPDX-License-Identifier: MIT */
/*
 * sse.c - a stream of server-sent events: see sse.h
 */
#include <errno.h>
#include <string.h>

#include "agent/model/sse.h"

#define BOM "\xef\xbb\xbf"

/* of fields but "data", and of comments, nothing is kept */
static void add_field(struct text *data, const char *line, size_t length)
{
	static const char name[] = "data";
	size_t at = sizeof(name) - 1;

	if (length < at || memcmp(line, name, at) != 0 ||
	    (length > at && line[at] != ':'))
		return;
	at += length > at; /* the colon, and one blank behind it */
	at += length > at && line[at] == ' ';
	text_add(data, line + at, length - at);
	text_puts(data, "\n");
}

static void take_line(struct sse *s)
{
	const char *line = text_string(&s->line);
	size_t length = s->line.length;

	if (length && line[length - 1] == '\r')
		length--;
	if (!s->begun && length >= strlen(BOM) && memcmp(line, BOM, strlen(BOM)) == 0) {
		line += strlen(BOM);
		length -= strlen(BOM);
	}
	s->begun = true;
	if (length)
		add_field(&s->data, line, length);
	s->whole = !length && s->data.length;
	if (s->whole)
		s->data.bytes[--s->data.length] = '\0'; /* the last newline */
	text_clear(&s->line);
}

int sse_next(struct sse *s, const char **bytes, size_t *length, struct err *e)
{
	if (s->whole)
		text_clear(&s->data);
	s->whole = false;
	s->line.max = SSE_EVENT_MAX;
	s->data.max = SSE_EVENT_MAX;
	while (*length && !s->whole) {
		const char *end = memchr(*bytes, '\n', *length);
		size_t part = end ? (size_t)(end - *bytes) : *length;
		size_t taken = part + (end ? 1 : 0);

		text_add(&s->line, *bytes, part);
		*bytes += taken;
		*length -= taken;
		s->total += taken;
		if (end && !s->line.failed)
			take_line(s);
		bool event = s->line.failed || s->data.failed;

		if (event || s->total > SSE_STREAM_MAX)
			return err_say(e, E2BIG,
				       "the model's server sent %s longer than %zu bytes",
				       event ? "an event" : "a stream",
				       event ? SSE_EVENT_MAX : SSE_STREAM_MAX);
	}
	return s->whole;
}

void sse_free(struct sse *s)
{
	text_free(&s->line);
	text_free(&s->data);
	*s = (struct sse){ 0 };
}
