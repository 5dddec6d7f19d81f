/* SPDX-License-Identifier: MIT */
/*
 * pylex.h - just enough of Python's lexer: strings and comments
 */
#ifndef STEPJAIL_AGENT_PYLEX_H
#define STEPJAIL_AGENT_PYLEX_H

#include <stdbool.h>
#include <stddef.h>

/* zeroed before the first line */
struct pylex {
	char quote;    /* of the open triple-quoted string, 0 outside */
	char one_line; /* of a one-line string that a backslash carries on, or 0 */
};

/**
 * pylex_line() - Follow one line of source, its newline left out
 *
 * Comments, one-line strings and backslashes are understood; prefixes (r, b, f) make no
 * difference to where a string ends.
 *
 * Return: true where the line ends inside a triple-quoted string
 */
bool pylex_line(struct pylex *lex, const char *line, size_t length);

#endif
