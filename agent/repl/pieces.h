/* SPDX-License-Identifier: MIT */
/*
 * pieces.h - where statements begin, and whether the last one is whole: the jail is asked
 *
 * Python knows its own syntax, so a jail beside the session runs pieces.py, with the text
 * as data. What it answers is hostile: one mark for each line and one for the end, which
 * can split the text badly and do nothing else. No answer means that the whole text is
 * one statement.
 */
#pragma once

#include "agent/session/session.h"

#define PIECES_MAX_BYTES ((size_t)640 << 10) /* as base64 it is within STEP_SOURCE_MAX */
#define PIECES_BEGIN 'b'

/**
 * pieces_ask() - Mark the lines where a statement or a command begins
 * @text:	Whole lines, PIECES_MAX_BYTES at most; any bytes
 * @script:	A block ends where the next statement begins, and not at an empty line
 * @marks:	Overwritten, also on failure: a byte for each line, PIECES_BEGIN where
 *		something begins there; behind them one that says so of the end: what
 *		stands there is whole
 *
 * Return: 0, -EBADMSG, or as session_aside()
 */
int pieces_ask(struct session *s, const char *text, size_t length, bool script,
	       struct text *marks, struct err *e);

/**
 * pieces_next() - How long the first piece of a text is: up to where the next one begins
 * @mark:	That of the text's first line; moved on to the line behind the piece
 * @length:	Of the text, not 0; its last byte is a newline
 */
size_t pieces_next(const char **mark, const char *text, size_t length);
