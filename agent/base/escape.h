/* SPDX-License-Identifier: MIT */
/*
 * escape.h - bytes of a model or a jail, made harmless to look at
 *
 * A terminal obeys control bytes, and so can a model's tokenizer or a reviewer's editor
 * be led by what is there and not seen. Everything that is invisible or moves the cursor
 * is shown as an escape in Python's own spelling: \x1b, \u202e, \U000e0041; a byte that
 * is no UTF-8 as \xNN. A backslash stays as it is, since code is full of them: the
 * escapes are for the eye, not for turning back into bytes.
 */
#pragma once

#include <stdbool.h>

#include "agent/base/text.h"

/* begins each line of a file or of a jail that a model or a person is shown (prompt.h) */
#define ESCAPE_MARK "| "

#define ESCAPE_NAME_MAX 300 /* bytes of it that are shown */

/** escape_hides() - True for a character that is shown as an escape (newline too) */
bool escape_hides(uint32_t point);

/** escape_line() - Add the bytes as a part of one line: tab is kept, newline is escaped
 */
void escape_line(struct text *out, const void *bytes, size_t length);

/**
 * escape_name() - Add a name or a word that is not the agent's, in quotes, to a line of
 * the agent's own
 *
 * As escape_line(), but cut at ESCAPE_NAME_MAX bytes, and in quotes that do not stand in
 * it, as Python's repr() has it: single ones, else double ones, else escaped. So it ends
 * where its closing quote is seen, and cannot go on as the agent's own words. What
 * parts turns is broken as by escape_turns(), for a model may be told it.
 */
void escape_name(struct text *out, const void *bytes, size_t length);

/**
 * escape_quote() - Add words behind a colon, as escape_name(); nothing if there are none
 */
void escape_quote(struct text *out, const char *words);

/**
 * escape_lines() - Add the bytes line by line, each behind a prefix and ended by a
 * newline
 * @prefix:	What marks these lines as not the agent's own words
 *
 * Only "\n" and "\r\n" end a line; other characters that some programs take for a line's
 * end are escaped, so that no line can begin without the prefix.
 */
void escape_lines(struct text *out, const char *prefix, const void *bytes, size_t length);

/**
 * escape_turns() - Add a text for a model, what parts the turns of a conversation broken
 *
 * A server that looks for "<|im_start|>" and its like in what a message says would take what
 * a jail prints for another speaker. The first character of whatever has the form of such
 * a mark becomes an escape. @theirs holds no NUL: it was escaped already. Where a piece
 * of it was not added, @out has failed, too.
 */
void escape_turns(struct text *out, const struct text *theirs);

/**
 * escape_cells() - How many cells of a terminal a character takes, at most
 * @column:	Where it stands: a tab goes to the next eighth
 *
 * What is narrower breaks a line early, which does no harm.
 */
size_t escape_cells(uint32_t point, size_t column);

/* ---- the same in pieces that may be cut anywhere: a character whose second half is
 * still to come is waited for. A jail's bytes onto a terminal or into a file */

struct stream {
	char held[4]; /* the beginning of a character, or a return */
	size_t held_bytes;
	bool mid_line; /* something stands in the last line */
};

/** stream_add() - Add a piece, escaped, to a text; newlines and tabs stay */
void stream_add(struct stream *s, const void *bytes, size_t length, struct text *out);

/** stream_end() - Nothing more comes: add what was held */
void stream_end(struct stream *s, struct text *out);
