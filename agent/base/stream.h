/* SPDX-License-Identifier: MIT */
/*
 * stream.h - a jail's bytes onto a terminal or into a file, as they come, made harmless
 *
 * As escape.h, but for pieces that may be cut anywhere: a character whose second half is
 * still to come is waited for.
 */
#ifndef STEPJAIL_AGENT_STREAM_H
#define STEPJAIL_AGENT_STREAM_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/base/text.h"

struct stream {
	char held[4]; /* the beginning of a character, or a return */
	size_t held_bytes;
	bool mid_line; /* something stands in the last line */
};

/** stream_add() - Add a piece, escaped, to a text; newlines and tabs stay */
void stream_add(struct stream *s, const void *bytes, size_t length, struct text *out);

/** stream_end() - Nothing more comes: add what was held */
void stream_end(struct stream *s, struct text *out);

#endif
