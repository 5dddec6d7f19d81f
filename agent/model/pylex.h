/* SPDX-License-Identifier: MIT */
/*
 * pylex.h - just enough of Python's lexer: strings, comments, brackets, and whether a
 * statement goes on
 */
#ifndef STEPJAIL_AGENT_PYLEX_H
#define STEPJAIL_AGENT_PYLEX_H

#include <stdbool.h>
#include <stddef.h>

/* zeroed before the first line */
struct pylex {
	char quote;         /* of the open triple-quoted string, 0 outside */
	char one_line;      /* of a one-line string that a backslash carries on, or 0 */
	unsigned int depth; /* brackets that are open */
	bool joined;        /* a backslash joins the next line to this one */
	char last; /* last character of the line that is no blank and no comment */
};

/**
 * pylex_line() - Follow one line of source, its newline left out
 *
 * Comments, one-line strings and backslashes are understood; prefixes (r, b, f) make no
 * difference to where a string ends. A bracket that closes nothing is let pass: it is for
 * Python to say so.
 *
 * Return: true where the line ends inside a triple-quoted string
 */
bool pylex_line(struct pylex *lex, const char *line, size_t length);

/** pylex_open() - True where the next line belongs to the same logical line */
bool pylex_open(const struct pylex *lex);

#endif
