/* SPDX-License-Identifier: MIT */
/*
 * live.h - words of a model or a jail in rows, while they still come
 *
 * They come in pieces that may be cut anywhere, and are hostile: each is made harmless
 * (escape.h), each row begins with a mark and is broken where the terminal ends: by
 * itself a terminal goes on with a line that is too long where lines of the agent's own
 * begin. Of a model's reply no more than a bound is shown while it comes.
 */
#pragma once

#include "agent/base/escape.h"

#define LIVE_BYTES_MAX ((size_t)16384) /* of one reply, as shown */
#define LIVE_ROWS_MAX 200

struct live {
	const char *mark; /* begins each row; the caller sets these two */
	bool prose;   /* rows end between words, but those longer than a quarter row */
	bool whole;   /* what is added are whole lines */
	bool bounded; /* of a model's reply no more than the bounds are laid out */
	struct stream stream;
	size_t column; /* where the row that is begun goes on; 0: none is */
	size_t bytes, rows;
	bool full; /* a bound was reached: the rest is not shown */
};

/**
 * live_add() - Lay out a piece
 * @columns:	Of the terminal; 0 breaks no row
 * @out:	Gets what is to be written next
 */
void live_add(struct live *l, const char *words, size_t length, size_t columns,
	      struct text *out);

/**
 * live_fold() - Add lines that are there, none wider than the terminal
 * @mark:	Begins each part of a line but its first, which has its own; ESCAPE_MARK
 *		does where that is the line's own
 * @lines:	Harmless already, a C string
 */
void live_fold(const char *mark, const char *lines, size_t length, size_t columns,
	       struct text *out);

/** live_row_end() - What is written next is something else: end the row that is begun */
void live_row_end(struct live *l, struct text *out);

/**
 * live_end() - All has come: what was held, the row's end; @l is as it was at first
 *
 * Return: true where all of it was shown
 */
bool live_end(struct live *l, size_t columns, struct text *out);
