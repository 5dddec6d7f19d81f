/* SPDX-License-Identifier: MIT */
/*
 * sse.h - a stream of server-sent events, put together from pieces cut anywhere
 *
 * As the HTML standard's chapter "Server-sent events" has it: lines end in CR, LF or both;
 * a byte order mark before the first is dropped; a line that begins with a colon is a
 * comment; of fields only "event" and "data" count here; an empty line ends an event; an
 * event that the stream's end cut off is none.
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
	struct text data; /* of the event that is being read */
	size_t total;     /* bytes that were fed */
	bool after_cr;    /* a newline that comes next belongs to the line before */
	bool begun;       /* behind the first line */
	bool has_data;
};

struct sse_reader {
	/*
	 * One event that has data, which ends in a NUL behind @length bytes and may be
	 * changed; 0, or -errno to hear no more
	 */
	int (*take)(void *arg, char *data, size_t length, struct err *e);
	void *arg;
};

/**
 * sse_feed() - Take the stream's next bytes
 * @s:		Zeroed at first; sse_free() at the end
 *
 * Return: 0, -E2BIG (an event or the stream is too long), or what the reader
 * returned
 */
int sse_feed(struct sse *s, const char *bytes, size_t length,
	     const struct sse_reader *reader, struct err *e);

/** sse_free() - Free and zero it */
void sse_free(struct sse *s);

#endif
