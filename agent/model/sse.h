/* SPDX-License-Identifier: MIT */
/*
 * sse.h - a stream of server-sent events, put together from pieces cut anywhere
 *
 * As the HTML standard's chapter "Server-sent events" has it: a byte order mark before the
 * first line is dropped; a line that begins with a colon is a comment; of fields only
 * "data" counts here; an empty line ends an event; an event that the stream's end cut off
 * is none. But for one thing: lines end in LF, or CR and LF. No server is known whose
 * lines end in a CR alone.
 */
#ifndef STEPJAIL_AGENT_SSE_H
#define STEPJAIL_AGENT_SSE_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/base/text.h"

#define SSE_EVENT_MAX ((size_t)4 << 20) /* bytes of one event, and of one line */
#define SSE_STREAM_MAX ((size_t)64 << 20)

struct sse {
	struct text line; /* the beginning of one whose end is still to come */
	struct text data; /* of the event that is being read, a newline behind each */
	size_t total;     /* bytes that were taken */
	bool begun;       /* behind the first line */
	bool whole;       /* @data is all of an event's */
};

/**
 * sse_next() - Take the stream's next bytes, up to the end of an event that has data
 * @s:		Zeroed at first; sse_free() at the end
 * @bytes:	Moved behind what was taken, and @length made less by it
 *
 * Return: 1: @s->data is the event's, without its last newline, and may be changed until
 * the next call; 0: all is taken; -E2BIG: an event or the stream is too long
 */
int sse_next(struct sse *s, const char **bytes, size_t *length, struct err *e);

/** sse_free() - Free and zero it */
void sse_free(struct sse *s);

#endif
