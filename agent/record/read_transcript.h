/* SPDX-License-Identifier: MIT */
/*
 * read_transcript.h - a transcript read back, line by line, each checked before it is
 * believed
 *
 * A changed file and one that a kill cut short are told apart: all that is there of the
 * second one fits. What is left of a line that was never finished fits as far as its
 * number and the digest before it; nothing else of it is looked at.
 */
#pragma once

#include "agent/base/json.h"
#include "agent/base/chain.h"

/* exit statuses of commands */
enum read_transcript_end {
	READ_TRANSCRIPT_WHOLE = 0, /* down to the line that says that the run has ended */
	READ_TRANSCRIPT_CHANGED = 1, /* a line does not fit */
	READ_TRANSCRIPT_CUT = 2,     /* all that is there fits; the end line is missing */
};

struct read_transcript {
	enum read_transcript_end end;
	struct chain chain; /* lines that fit, and the digest of the last */
	uint64_t steps;     /* that had begun, in these lines */
	uint64_t cut_off; /* of these: by a signal, the task's limit, a failure, a user */
	bool begun;       /* the last of them has no end in these lines */
	uint32_t format;  /* of these lines */
	bool half;        /* behind them: a line that was not finished */
	struct err why; /* READ_TRANSCRIPT_CHANGED: of the first line that does not fit */
};

/* what is done with a line that fits; 0, or -errno with *e filled to read no more */
typedef int read_transcript_take(void *arg, const char *event, const cJSON *line,
				 struct err *e);

/**
 * read_transcript_run() - Read a transcript from its beginning
 * @fd:		file_open()'s
 * @take:	Called for each line that fits, or NULL
 *
 * Return: 0 with @r filled, -errno of read(2), or @take's
 */
int read_transcript_run(int fd, read_transcript_take *take, void *arg,
			struct read_transcript *r, struct err *e);

/**
 * read_transcript_words() - Add one line about how it reads, without a newline
 * @path:	As the user gave it
 */
void read_transcript_words(const struct read_transcript *r, const char *path,
			   struct text *out);
