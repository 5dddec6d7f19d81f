/* SPDX-License-Identifier: MIT */
/*
 * pylex.c - just enough of Python's lexer: see pylex.h
 */
#include <string.h>

#include "agent/model/pylex.h"

static bool triple_at(const char *at, size_t left, char quote)
{
	return left >= 3 && at[0] == quote && at[1] == quote && at[2] == quote;
}

/* characters inside a string; returns how many were taken */
static size_t in_string(struct pylex *lex, const char *at, size_t left)
{
	lex->last = '"';
	if (*at == '\\') {
		/* at the end of the line, it carries a one-line string on */
		lex->joined = left == 1;
		return 2;
	}
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
	if (*at == '\'' || *at == '"') {
		bool triple = triple_at(at, left, *at);

		*(triple ? &lex->quote : &lex->one_line) = *at;
		lex->last = *at;
		return triple ? 3 : 1;
	}
	if (strchr("([{", *at))
		lex->depth++;
	else if (strchr(")]}", *at) && lex->depth)
		lex->depth--;
	lex->joined = *at == '\\' && left == 1;
	if (!strchr(" \t\r\f", *at))
		lex->last = *at;
	return 1;
}

bool pylex_line(struct pylex *lex, const char *line, size_t length)
{
	lex->joined = false;
	lex->last = 0;
	for (size_t i = 0; i < length;) {
		bool inside = lex->quote || lex->one_line;

		/* no text for strchr() ends early: a NUL is for Python to refuse */
		if (!inside && (line[i] == '#' || line[i] == '\0'))
			break;
		i += (inside ? in_string : in_code)(lex, line + i, length - i);
	}
	if (!lex->joined)
		lex->one_line = 0; /* it is an error, and Python's to tell */
	return lex->quote != 0;
}

bool pylex_open(const struct pylex *lex)
{
	return lex->quote || lex->one_line || lex->depth || lex->joined;
}
