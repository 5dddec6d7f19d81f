/* SPDX-License-Identifier: MIT */
/*
 * split.h - a command line in one string, as the words that a shell would make of it
 */
#ifndef STEPJAIL_AGENT_SPLIT_H
#define STEPJAIL_AGENT_SPLIT_H

#include <stddef.h>

#include "init/err.h"

#define SPLIT_WORDS_MAX 64

struct split {
	char *words[SPLIT_WORDS_MAX];
	size_t count;
};

#define cleanup_split __attribute__((cleanup(split_free)))

/**
 * split_words() - Split a line at blanks; nothing is expanded, and nothing is an operator
 * @line:	Quotes and backslashes are as in the shell's grammar (POSIX.1, XCU 2.2)
 * @w:		Overwritten; split_free() in any case
 * @what:	Names the line in an error
 *
 * Return: 0, -EINVAL (no word; a quote that is not closed; a backslash at the end) or
 * -E2BIG
 */
int split_words(const char *line, struct split *w, const char *what, struct err *e);

/** split_free() - Free the words; safe on a zeroed struct */
void split_free(struct split *w);

#endif
