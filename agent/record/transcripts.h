/* SPDX-License-Identifier: MIT */
/*
 * transcripts.h - the folder of the transcripts that the agent named itself
 *
 * Nothing in a file is read here. No link is followed. To list and remove them is a
 * program of its own, stepjail-transcripts.
 */
#pragma once

#include "agent/base/text.h"

/* above either of these the end of a run tells how to remove some */
#define TRANSCRIPTS_MAX 1000
#define TRANSCRIPTS_BYTES_MAX ((uint64_t)1 << 30)

struct transcripts {
	int fd;           /* of the folder */
	struct text path; /* absolute */
	size_t count;
	uint64_t bytes;   /* of all, with what is in each NAME.shown */
	struct text last; /* name of the last one of solve or chat; empty: none */
};

#define TRANSCRIPTS_NONE ((struct transcripts){ .fd = -1 })
#define cleanup_transcripts __attribute__((cleanup(transcripts_free)))

/**
 * transcripts_find() - How many there are, and which is the last; the folder is made
 * where it is missing
 * @t:		Overwritten; transcripts_free() in any case
 *
 * Return: 0, or -errno with a line that names it
 */
int transcripts_find(struct transcripts *t, struct err *e);

/**
 * transcripts_open_named() - Open a transcript that a user named
 * @operand:	A path; else a name of the folder, with or without its ending
 *
 * Return: the fd, or -errno with a line that names it
 */
int transcripts_open_named(const char *operand, struct err *e);

/** transcripts_free() - Safe on TRANSCRIPTS_NONE */
void transcripts_free(struct transcripts *t);
