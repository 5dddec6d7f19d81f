/* SPDX-License-Identifier: MIT */
/*
 * transcripts.h - the folder of the transcripts that the agent named itself
 *
 * Nothing in a file is read here: names, sizes and times are the file system's. No link
 * is followed, and nothing outside the folder is touched.
 */
#pragma once

#include <time.h>

#include "agent/base/text.h"

/* above either of these the end of a run tells how to remove some */
#define TRANSCRIPTS_MAX 1000
#define TRANSCRIPTS_BYTES_MAX ((uint64_t)1 << 30)

struct transcripts_file {
	char *name;              /* in the folder */
	uint64_t bytes;          /* with what is in NAME.shown */
	struct timespec written; /* when it was written last */
};

struct transcripts {
	int fd;           /* of the folder */
	struct text path; /* absolute */
	struct transcripts_file *files;
	size_t count;
	uint64_t bytes; /* of all */
};

#define TRANSCRIPTS_NONE ((struct transcripts){ .fd = -1 })
#define cleanup_transcripts __attribute__((cleanup(transcripts_free)))

/**
 * transcripts_find() - What is in the folder, the last written first
 * @t:		Overwritten; transcripts_free() in any case
 * @folder:	Another one; or NULL
 *
 * The agent's own folder is made where it is missing.
 *
 * Return: 0, or -errno with a line that names it
 */
int transcripts_find(struct transcripts *t, const char *folder, struct err *e);

/**
 * transcripts_open() - Open one of them to read
 *
 * Return: the fd, -EINVAL where it is no regular file, or -errno
 */
int transcripts_open(const struct transcripts *t, const char *name);

/**
 * transcripts_open_named() - Open a transcript that a user named
 * @operand:	A path; else a name of the list, with or without its ending
 *
 * Return: the fd, or -errno with a line that names it
 */
int transcripts_open_named(const char *operand, struct err *e);

/**
 * transcripts_remove() - Remove one of them, and what is in NAME.shown before it
 *
 * Return: 1, 0 where a run is writing it, or -errno with a line that names it
 */
int transcripts_remove(const struct transcripts *t, const char *name, struct err *e);

/** transcripts_free() - Safe on TRANSCRIPTS_NONE */
void transcripts_free(struct transcripts *t);
