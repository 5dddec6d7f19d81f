/* SPDX-License-Identifier: MIT */
/*
 * pylex.c - where Python's strings end: see pylex.h
 */
#include "agent/pylex.h"

static bool triple_at(const char *at, size_t left, char quote)
{
	return left >= 3 && at[0] == quote && at[1] == quote && at[2] == quote;
}

bool pylex_line(struct pylex *lex, const char *line, size_t length)
{
	char one_line = 0; /* quote of the open one-line string */

	for (size_t i = 0; i < length; i++) {
		char c = line[i];
		bool inside = lex->quote || one_line;

		if (c == '\\' && inside) {
			i++;
		} else if (lex->quote) {
			if (triple_at(line + i, length - i, lex->quote)) {
				lex->quote = 0;
				i += 2;
			}
		} else if (one_line) {
			if (c == one_line)
				one_line = 0;
		} else if (c == '#') {
			break;
		} else if (c == '\'' || c == '"') {
			if (triple_at(line + i, length - i, c)) {
				lex->quote = c;
				i += 2;
			} else {
				one_line = c;
			}
		}
	}
	return lex->quote != 0;
}
