/* SPDX-License-Identifier: MIT */
/*
 * clip.h - the head and the tail of a stream; the middle is counted and let go
 *
 * A step may print for as long as it likes: it is never stopped for talking, and it never
 * makes this process grow.
 */
#pragma once

#include "agent/base/chain.h"

#define CLIP_HEAD_BYTES 6144
#define CLIP_TAIL_BYTES 6144

struct clip {
	uint64_t total;        /* bytes the stream had */
	struct sha256_ctx sum; /* of those that came */
	size_t head_length;
	size_t tail_length; /* at most CLIP_TAIL_BYTES */
	char head[CLIP_HEAD_BYTES];
	char tail[CLIP_TAIL_BYTES];
};

/** clip_clear() - Start a stream anew */
void clip_clear(struct clip *c);

/** clip_add() - Take the stream's next bytes */
void clip_add(struct clip *c, const void *bytes, size_t length);

/**
 * clip_resume() - Go on behind bytes that never came
 * @missing:	How many
 * @bytes:	The stream's last ones, which follow those
 */
void clip_resume(struct clip *c, uint64_t missing, const void *bytes, size_t length);

/**
 * clip_take() - Put head and tail into two texts, cut between characters
 * @head:	Gets all of it where nothing was left out
 * @tail:	Gets what follows the gap; empty where there is none
 *
 * Return: bytes left out between them
 */
uint64_t clip_take(const struct clip *c, struct text *head, struct text *tail);

/** clip_last_line() - Add the last line that is not empty, in one line: escape_line() */
void clip_last_line(const struct clip *c, struct text *line);

/** clip_digest() - The SHA-256 of all bytes that came, those that are not kept too */
void clip_digest(const struct clip *c, char hex[DIGEST_HEX]);

/**
 * clip_show() - Add the stream in lines behind a prefix, see escape_lines()
 *
 * The line that says how much was left out has no prefix: it is the agent's own. Of
 * faulthandler's list of modules there is only their number.
 */
void clip_show(const struct clip *c, const char *prefix, struct text *out);

/**
 * clip_titled() - Add one stream of a jail, or two, for a model: a title, then the lines
 * behind ESCAPE_MARK; nothing where both are empty
 * @second:	Or NULL
 */
void clip_titled(const char *title, const struct clip *first, const struct clip *second,
		 struct text *out);
