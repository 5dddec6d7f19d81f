/* SPDX-License-Identifier: MIT */
/*
 * pylex.h - just enough of Python's lexer to know whether a line ends inside a string
 */
#ifndef STEPJAIL_AGENT_PYLEX_H
#define STEPJAIL_AGENT_PYLEX_H

#include <stdbool.h>
#include <stddef.h>

struct pylex {
	char quote; /* of the open triple-quoted string, 0 outside */
};

/**
 * pylex_line() - Follow one line of source, its newline left out
 *
 * Comments, one-line strings and backslashes are understood; prefixes (r, b, f) make no
 * difference to where a string ends. A one-line string ends with its line at the latest,
 * even where a backslash carries it on: that only matters to code that no one writes.
 *
 * Return: true where the line ends inside a triple-quoted string
 */
bool pylex_line(struct pylex *lex, const char *line, size_t length);

#endif
