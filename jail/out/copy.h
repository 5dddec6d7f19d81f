/* SPDX-License-Identifier: MIT */
/*
 * copy.h - --out: what a jail left in /work/out, copied into a folder of the caller's
 *
 * Names and bytes are the jail's. When this begins, all of its processes are gone, so
 * nothing changes any more. A plain file becomes a file of the caller's, whole or not at
 * all; a folder is made anew; all else is left out and counted. Nothing is written over,
 * no link is followed, and what is neither a file nor a folder is not opened.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define COPY_DEPTH_MAX 16u
#define COPY_COUNT_MAX 10000u /* files and folders */

/* why something is left out */
enum copy_left {
	COPY_LINK,
	COPY_SPECIAL,
	COPY_HIDDEN,
	COPY_NAME,
	COPY_DEEP,
	COPY_LIMIT,
	COPY_CLOSED,
	COPY_UNWRITTEN,
	COPY_LEFT_COUNT,
};

/* for the report, and for a person */
extern const struct copy_words {
	const char *key, *words;
} copy_words[COPY_LEFT_COUNT];

struct copy {
	int work; /* the jail's /work */
	int to;   /* the caller's folder */
	int stop; /* readable, or at its end: stop */
	uint64_t limit_bytes;
	uint64_t until_ms; /* by then all must be copied */
	bool hidden;       /* names that begin with a dot, too */
};

/* of fixed size: whoever sends it has read a jail's bytes */
struct copied {
	int32_t errnum; /* why not all could be written here, 0 for all */
	uint32_t files, folders;
	uint32_t left[COPY_LEFT_COUNT];
	uint64_t bytes;
};

/**
 * copy_try() - Make a file in the caller's folder, and remove it
 *
 * Return: 0, or -errno
 */
int copy_try(int to);

/** copy_takes() - Is this a name that is copied, be it hidden or not? */
bool copy_takes(const char *name);

/** copy_begin() - Open a new file of the caller's folder @to; an fd, or -errno */
int copy_begin(int to);

/**
 * copy_end() - Close it, and give it its name if nobody has that; NULL: remove it
 *
 * Return: 0, or errno: it has no name then; of one to be removed, it may be there still
 */
int copy_end(int to, int out, const char *name);

/** copy_run() - Copy what there is; @done is zeroed before, and filled as far as it
 * went */
void copy_run(const struct copy *c, struct copied *done);
