/* SPDX-License-Identifier: MIT */
/*
 * sse.c - a stream of server-sent events: see sse.h
 */
#include <errno.h>
#include <string.h>

#include "agent/model/sse.h"

#define BOM "\xef\xbb\xbf"

static int check(const struct text *t, struct err *e)
{
	if (t->failed == E2BIG)
		return err_say(e, E2BIG,
			       "the model's server sent an event longer than %zu bytes",
			       SSE_EVENT_MAX);
	return text_check(t, "an event of the model's server", e);
}

/* the value of a field, one blank behind its colon left out; NULL for another field */
static const char *value_of(const char *line, size_t length, const char *field,
			    size_t *value_length)
{
	size_t n = strlen(field);

	if (length < n || memcmp(line, field, n) != 0)
		return NULL;
	line += n;
	length -= n;
	if (!length || *line != ':') {
		*value_length = 0; /* a field without a colon has an empty value */
		return length ? NULL : line;
	}
	line++;
	length--;
	if (length && *line == ' ') {
		line++;
		length--;
	}
	*value_length = length;
	return line;
}

static int end_event(struct sse *s, const struct sse_reader *reader, struct err *e)
{
	int r = 0;

	if (s->has_data) {
		text_add(&s->data, "", 0);
		r = check(&s->data, e);
		if (r == 0)
			r = reader->take(reader->arg, s->data.bytes, s->data.length, e);
	}
	text_clear(&s->data);
	s->has_data = false;
	return r;
}

static int take_line(struct sse *s, const char *line, size_t length,
		     const struct sse_reader *reader, struct err *e)
{
	size_t value_length;

	if (!s->begun && length >= strlen(BOM) && memcmp(line, BOM, strlen(BOM)) == 0) {
		line += strlen(BOM);
		length -= strlen(BOM);
	}
	s->begun = true;
	if (!length)
		return end_event(s, reader, e);

	const char *value = value_of(line, length, "data", &value_length);

	if (!value)
		return 0; /* a comment, or a field that says nothing here */
	if (s->has_data)
		text_puts(&s->data, "\n");
	s->has_data = true;
	text_add(&s->data, value, value_length);
	return check(&s->data, e);
}

int sse_feed(struct sse *s, const char *bytes, size_t length,
	     const struct sse_reader *reader, struct err *e)
{
	s->line.max = SSE_EVENT_MAX;
	s->data.max = SSE_EVENT_MAX;
	if (length > SSE_STREAM_MAX - s->total)
		return err_say(e, E2BIG,
			       "the model's server sent a stream longer than %zu bytes",
			       SSE_STREAM_MAX);
	s->total += length;
	while (length) {
		if (s->after_cr && *bytes == '\n') {
			s->after_cr = false;
			bytes++;
			length--;
			continue;
		}
		s->after_cr = false;

		size_t part = 0;

		while (part < length && bytes[part] != '\n' && bytes[part] != '\r')
			part++;
		text_add(&s->line, bytes, part);
		if (s->line.failed)
			return check(&s->line, e);
		if (part == length)
			return 0;
		s->after_cr = bytes[part] == '\r';
		bytes += part + 1;
		length -= part + 1;

		int r = take_line(s, text_string(&s->line), s->line.length, reader, e);

		if (r < 0)
			return r;
		text_clear(&s->line);
	}
	return 0;
}

void sse_free(struct sse *s)
{
	text_free(&s->line);
	text_free(&s->data);
	*s = (struct sse){ 0 };
}
