/* SPDX-License-Identifier: MIT */
/*
 * pylex.c - just enough of Python's lexer: see pylex.h
 */
#include "agent/model/pylex.h"

static bool triple_at(const char *at, size_t left, char quote)
{
	return left >= 3 && at[0] == quote && at[1] == quote && at[2] == quote;
}

/* characters inside a string; returns how many were taken */
static size_t in_string(struct pylex *lex, const char *at, size_t left)
{
	if (*at == '\\')
		return 2;
	if (lex->quote && triple_at(at, left, lex->quote)) {
		lex->quote = 0;
		return 3;
	}
	if (lex->one_line && *at == lex->one_line)
		lex->one_line = 0;
	return 1;
}

static size_t in_code(struct pylex *lex, const char *at, size_t left)
{
	bool triple = triple_at(at, left, *at);

	if (*at != '\'' && *at != '"')
		return 1;
	*(triple ? &lex->quote : &lex->one_line) = *at;
	return triple ? 3 : 1;
}

bool pylex_line(struct pylex *lex, const char *line, size_t length)
{
	size_t i = 0;

	while (i < length) {
		bool inside = lex->quote || lex->one_line;

		if (!inside && (line[i] == '#' || line[i] == '\0'))
			break; /* a comment; a NUL is for Python to refuse */
		i += (inside ? in_string : in_code)(lex, line + i, length - i);
	}
	/* only a backslash at its end, which takes the newline with it, carries it on */
	if (i <= length)
		lex->one_line = 0;
	return lex->quote != 0;
}
