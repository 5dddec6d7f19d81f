/* SPDX-License-Identifier: MIT */
/*
 * extract.h - the code in a model's reply, of which its thinking was taken out (think.h)
 *
 * What is code
 *   - A fence (three or more backticks or tildes at the start of a line; indented or
 *   behind a list bullet too) whose first word is python, py, python3, ipython and the
 *   like, in any case.
 *   - <execute_python> at the start of a line, up to </execute_python>; a fence inside is
 *     taken off.
 *   - A fence without any word, but only where the reply has none of the two above:
 *   beside Python, a plain fence is nearly always an example or expected output. Other
 *   fences (json, text, csv, ...) are part of the answer. A shell fence (bash, sh, ...)
 *   is not run, and the model is told so rather than taken to have answered.
 *
 * Several blocks are one step: joined in their order, as the cells of a notebook. Models
 * write "first this, then that" in one reply, and running the first alone would lose half
 * of what was asked for. The danger is a model that plays both parts and makes up what
 * its code printed. So blocks are taken only up to the first line outside a block that
 * begins with "Output:", "Error:" or "Observation:": what follows was written for a
 * result that nobody has seen yet.
 *
 * Where a fence ends: at a line with only the same character, at least as often as it was
 * opened with (CommonMark), but not within a string of Python's with three quotes: models
 * write Markdown into such strings. Where that string has no end either, the first such
 * line it is. Quotes in a comment, or escaped ones, can be taken for others; that a model
 * can open with four backticks, it has been told.
 *
 * A block without an end was either cut off or ended by the model's stop word. The caller
 * knows which (finish reason) and decides; see @closed. If it ends in a fence at the end
 * of its last line, it counts as closed.
 *
 * CRLF becomes LF. Code with a NUL or with bytes that are no UTF-8 is refused, not
 * mended: mending would run something that the model did not write.
 */
#pragma once

#include <stdbool.h>

#include "agent/base/text.h"

#define EXTRACT_CODE_MAX ((size_t)256 << 10) /* a step's source in bytes */

enum extract_kind {
	EXTRACT_ANSWER,   /* no code: the reply is the final answer */
	EXTRACT_CODE,     /* code to run */
	EXTRACT_SILENCE,  /* nothing but white space */
	EXTRACT_EMPTY,    /* a block with nothing in it */
	EXTRACT_SHELL,    /* shell commands and no Python */
	EXTRACT_NOT_TEXT, /* NUL or broken UTF-8 in the code */
	EXTRACT_TOO_LONG, /* over EXTRACT_CODE_MAX */
	EXTRACT_KINDS,
};

struct extract {
	enum extract_kind kind;
	struct text code; /* EXTRACT_CODE: joined blocks, each ending in a newline */
	size_t blocks;    /* how many were joined */
	bool closed;      /* false where the last block has no end */
	bool imitated;    /* the reply went on to make up an observation */
};

/**
 * extract_code() - Find the code in a reply
 * @reply:	Any bytes
 * @x:		Overwritten; free with text_free(&x->code)
 * @words:	Gets what stands around the code: lines of no block, up to one that tells
 *		an observation; or NULL
 */
void extract_code(const char *reply, size_t length, struct extract *x,
		  struct text *words);

/** extract_kind() - What code is: EXTRACT_CODE, _EMPTY, _NOT_TEXT or _TOO_LONG */
enum extract_kind extract_kind(const struct text *code);

/**
 * extract_complaint() - What to tell a model whose reply cannot be used
 *
 * Return: a sentence, or NULL for EXTRACT_ANSWER and EXTRACT_CODE
 */
const char *extract_complaint(enum extract_kind kind);
