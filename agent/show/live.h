/* SPDX-License-Identifier: MIT */
/*
 * live.h - a model's words on a terminal while they still come
 *
 * They come in pieces that may be cut anywhere, and are hostile: each is made harmless
 * (escape.h), each row begins with a mark and is broken where the terminal ends, and of
 * one reply no more than a bound is shown so. The whole of it is shown when it has come.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "agent/base/escape.h"
#include "agent/base/text.h"

#define LIVE_BYTES_MAX ((size_t)16384) /* of one reply, as shown */
#define LIVE_ROWS_MAX 200

struct live {
	struct stream stream;
	size_t column; /* where the row that is begun goes on; 0: none is */
	size_t bytes, rows;
	bool full; /* a bound was reached: the rest is not shown */
};

/**
 * live_add() - Lay out a piece
 * @mark:	Begins each row
 * @columns:	Of the terminal
 * @out:	Gets what is to be written next
 */
void live_add(struct live *l, const char *words, size_t length, const char *mark,
	      size_t columns, struct text *out);

/** live_row_end() - What is written next is something else: end the row that is begun */
void live_row_end(struct live *l, struct text *out);

/**
 * live_end() - The reply is at its end: what was held, the row's end; zeroes it
 *
 * Return: true where all of it was shown
 */
bool live_end(struct live *l, const char *mark, size_t columns, struct text *out);
