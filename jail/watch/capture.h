/* SPDX-License-Identifier: MIT */
/*
 * capture.h - keep head and tail of what a program writes, and count all of it; or pass
 * it on to a pipe of the caller's
 *
 * A pipe of the caller's is never given to the program, which could open it for reading
 * by /proc/self/fd, where it has the caller's id, and take what others have written.
 */
#pragma once

#include <poll.h>
#include <stdio.h>

#include "jail/plan/plan.h"

#define CAPTURE_READ 65536
#define CAPTURE_STREAMS 2 /* of the program's fds 1 and 2, in this order */

/* "stdout", "stderr": in messages and in the report */
extern const char *const capture_names[CAPTURE_STREAMS];

struct capture_stream {
	int outside; /* read by the launcher, not blocking; -1 at its end */
	int to;      /* where it is passed on to, not blocking; -1: it is kept */
	unsigned char
		*next; /* CAPTURE_READ bytes, of which @at to @end are to be written */
	size_t at, end;
	int read_errnum;     /* why reading failed before the end, 0 if it did not */
	unsigned char *kept; /* three halves of the limit; NULL: not captured */
	size_t half, used;
	uint64_t bytes; /* that the program wrote, as far as they were read */
};

struct capture {
	struct capture_stream stream[CAPTURE_STREAMS];
};

#define CAPTURE_NONE                                                                     \
	{                                                                                \
		.stream = { [0 ... CAPTURE_STREAMS - 1] = { .outside = -1, .to = -1 } }  \
	}

/* the part of a stream that is shown; no character of UTF-8 is cut in two */
struct capture_view {
	const unsigned char *head, *tail; /* with left_out 0, head is the whole stream */
	size_t head_bytes, tail_bytes;
	uint64_t left_out; /* between them */
};

/**
 * capture_open() - Make the pipes and the memory that a plan asks for, and a pipe for
 * each of stdout and stderr that is a pipe, one for both where they are the same
 * @c:		CAPTURE_NONE before; the caller calls capture_end() whatever this returns
 * @stdio:	Gets the pipes' ends that become the program's fds 1 and 2: the caller's
 *
 * Return: 0, or -errno
 */
int capture_open(struct capture *c, int stdio[3], const struct plan *p, struct err *e);

/**
 * capture_read() - Take what a stream holds, or pass it on, at most once and 64 KiB
 *
 * Return: number of bytes; 0 or less when there is nothing more now
 */
ssize_t capture_read(struct capture_stream *s);

/** capture_wanted() - What to wait for before the next capture_read() */
struct pollfd capture_wanted(const struct capture_stream *s);

/**
 * capture_pass() - Pass on what is left once the jail is gone, as far as nothing waits
 *
 * Return: whether something is left that has a reader
 */
bool capture_pass(struct capture *c);

/** capture_add() - Keep and count the next bytes of a stream */
void capture_add(struct capture_stream *s, const unsigned char *bytes, size_t length);

/**
 * capture_drain() - Read the rest of what is kept from the pipes once the jail is gone
 *
 * Never more than they hold at the call: a process outside of the jail that got hold of
 * the writing end cannot keep the launcher waiting.
 *
 * Return: 0, or -errno if reading a stream failed before its end, now or earlier
 */
int capture_drain(struct capture *c, struct err *e);

/** capture_end() - Close all fds; the kept bytes stay */
void capture_end(struct capture *c);

/** capture_view() - The part of a captured stream that is shown */
struct capture_view capture_view(const struct capture_stream *s);

/** capture_print() - The report's object, or null when nothing was captured */
void capture_print(const struct capture *c, FILE *out);

/** capture_print_max() - The most bytes that capture_print() can write for a plan */
size_t capture_print_max(const struct plan *p);

/**
 * capture_deliver() - Write the kept bytes to the launcher's own stdout and stderr
 *
 * A line between head and tail says how many bytes were left out. A reader that is gone
 * (EPIPE) is no error.
 *
 * Return: 0, or -errno of write(2)
 */
int capture_deliver(const struct capture *c, struct err *e);
