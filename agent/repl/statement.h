/* SPDX-License-Identifier: MIT */
/*
 * statement.h - lines put together to statements, by rules that need no Python
 *
 * A statement goes on while a string or a bracket is open or a backslash joins its lines.
 * A compound one (it begins with if, for, def, @ and the like, or its line ends with a
 * colon) goes on, at a prompt, until an empty line; in a script, until a line that is not
 * indented and no else, elif, except or finally. What is wrong is left to Python to say.
 */
#ifndef STEPJAIL_AGENT_STATEMENT_H
#define STEPJAIL_AGENT_STATEMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/base/text.h"
#include "agent/model/pylex.h"

/* zeroed before the first line */
struct statement {
	struct text lines; /* each with its newline */
	struct pylex lex;
	bool compound;
	bool decorated; /* the last logical line was a decorator's */
};

/** statement_clear() - Begin anew */
void statement_clear(struct statement *s);

/** statement_free() - Free its text */
void statement_free(struct statement *s);

/**
 * statement_begins() - Does this line begin another statement than the one there is?
 *
 * For scripts, which are known a line ahead; a prompt does not ask.
 */
bool statement_begins(const struct statement *s, const char *line, size_t length);

/**
 * statement_add() - Take one line, its newline left out
 *
 * Return: true where the statement is whole, as far as a prompt can tell: for a compound
 * one, at an empty line. One that is empty, or a comment, is whole at once.
 */
bool statement_add(struct statement *s, const char *line, size_t length);

/** statement_empty() - True where there is nothing that could be run */
bool statement_empty(const struct statement *s);

#endif
