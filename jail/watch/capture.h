/* SPDX-License-Identifier: MIT */
/*
 * capture.h - keep what a program writes: head and tail up to a limit, all of it counted
 */
#ifndef STEPJAIL_JAIL_WATCH_CAPTURE_H
#define STEPJAIL_JAIL_WATCH_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "init/err.h"
#include "jail/plan/plan.h"

#define CAPTURE_STREAMS 2 /* of the program's fds 1 and 2, in this order */

struct capture_stream {
	int inside;          /* becomes the program's fd; -1 once it is given */
	int outside;         /* read by the launcher, not blocking; -1 at its end */
	int read_errnum;     /* why not all of it was read, 0 for all */
	int spill;           /* file that gets every byte; -1 for none, or no more */
	unsigned char *kept; /* three halves of the limit; NULL: not captured */
	size_t half, used;
	uint64_t bytes; /* that were written to it */
	uint64_t spill_max, spilled;
	const char *spill_error; /* why the file lacks what came later, or NULL */
};

struct capture {
	int folder; /* the spill files', or -1 */
	struct capture_stream stream[CAPTURE_STREAMS];
};

#define CAPTURE_STREAM_NONE                                                              \
	{                                                                                \
		.inside = -1, .outside = -1, .spill = -1                                 \
	}
#define CAPTURE_NONE                                                                     \
	{                                                                                \
		-1,                                                                      \
		{                                                                        \
			CAPTURE_STREAM_NONE, CAPTURE_STREAM_NONE                         \
		}                                                                        \
	}

/* what is shown of a stream, never cut within a character of UTF-8 */
struct capture_view {
	const unsigned char *head, *tail; /* all of it is head if nothing was left out */
	size_t head_bytes, tail_bytes;
	uint64_t left_out; /* between them */
};

/**
 * capture_open() - Make the pipes, the memory and the spill files that a plan asks for
 * @c:		CAPTURE_NONE before; the caller calls capture_end() whatever this returns
 *
 * Return: 0, or -errno; a spill file that is there already is -EEXIST
 */
int capture_open(struct capture *c, const struct plan *p, struct err *e);

/** capture_give() - Hand over the pipes' ends that become the program's fds 1 and 2 */
void capture_give(struct capture *c, int stdio[3]);

/**
 * capture_read() - Take what a stream holds, at most once and 64 KiB
 *
 * Return: number of bytes; 0 or less when there is nothing more now
 */
ssize_t capture_read(struct capture_stream *s);

/** capture_add() - Keep, count and spill the next bytes of a stream */
void capture_add(struct capture_stream *s, const unsigned char *bytes, size_t length);

/**
 * capture_drain() - Take what the pipes hold once the jail is gone
 *
 * Never more than they held at the call: an end that found its way out of the jail keeps
 * nobody waiting.
 */
void capture_drain(struct capture *c);

/** capture_check() - 0, or -errno where what was written could not all be read */
int capture_check(const struct capture *c, struct err *e);

/**
 * capture_end() - Close everything; what was kept stays
 * @started:	false removes the spill files, of a program that never ran
 */
void capture_end(struct capture *c, bool started);

/** capture_view() - What to show of a captured stream */
struct capture_view capture_view(const struct capture_stream *s);

/** capture_print() - The report's object, or null when nothing was captured */
void capture_print(const struct capture *c, FILE *out);

/** capture_print_max() - The most bytes that capture_print() can write for a plan */
size_t capture_print_max(const struct plan *p);

/**
 * capture_deliver() - Write what was kept to the launcher's own stdout and stderr
 *
 * With a line of its own for what was left out. A reader that is gone (EPIPE) is no
 * error: it did not want it.
 *
 * Return: 0, or -errno of write(2)
 */
int capture_deliver(const struct capture *c, struct err *e);

#endif
