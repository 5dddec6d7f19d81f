/* SPDX-License-Identifier: MIT */
/*
 * account.h - a transcript, told to a person: in some words, or step by step
 *
 * It may be a stranger's: whoever reads one is confined, and all that is shown of it is
 * escaped, clipped and marked, as a model's and a jail's words are.
 */
#pragma once

#include "agent/record/read_transcript.h"
#include "agent/show/show.h"

/**
 * account_read() - Add what it is, in some words of the file's, a line each and cut
 * @o:		Gets command ("solve", "repl"), task (its beginning), outcome
 *		("unfinished" and "changed" where there is none to believe), steps
 *
 * Return: 0, or -errno of read(2)
 */
int account_read(int fd, cJSON *o, struct err *e);

/**
 * account_show() - Show what happened, as far as it fits
 * @reading:	Gets how it reads: lines behind one that does not fit are not shown
 *
 * Return: 0, or -errno of read(2) or of writing
 */
int account_show(int fd, struct show *show, struct read_transcript *reading,
		 struct err *e);
