/* SPDX-License-Identifier: MIT */
/*
 * account.h - a transcript, told to a person: in some words, or step by step
 *
 * It may be a stranger's: whoever reads one is confined, and all that is shown of it is
 * escaped, clipped and marked, as a model's and a jail's words are.
 */
#ifndef STEPJAIL_AGENT_ACCOUNT_H
#define STEPJAIL_AGENT_ACCOUNT_H

#include "agent/record/read_transcript.h"
#include "agent/show/show.h"

/* words of the file's, on a line each, cut, not escaped */
struct account {
	char command[16]; /* "solve", "repl" */
	char task[64];    /* its beginning */
	char outcome[24]; /* "unfinished" and "changed" where there is none to believe */
	uint64_t steps;
};

/** account_read() - Fill it; 0, or -errno of read(2) */
int account_read(int fd, struct account *a, struct err *e);

/**
 * account_show() - Show what happened, as far as it fits
 * @reading:	Gets how it reads: lines behind one that does not fit are not shown
 *
 * Return: 0, or -errno of read(2) or of writing
 */
int account_show(int fd, struct show *show, struct read_transcript *reading,
		 struct err *e);

#endif
