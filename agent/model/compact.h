/* SPDX-License-Identifier: MIT */
/*
 * compact.h - a conversation that fits the model: old observations cut down
 *
 * Of an observation its first line stays, which says how the step ended. The last one is
 * never cut down, nor is anything that the model or the user said. A record keeps the
 * whole: this is about what is sent.
 *
 * Tokens are not counted here but judged by bytes, by what the server told of the last
 * request.
 */
#ifndef STEPJAIL_AGENT_COMPACT_H
#define STEPJAIL_AGENT_COMPACT_H

#include "agent/model/chat.h"

/* the last request: how many bytes were how many tokens; zeroed where nothing is known */
struct gauge {
	uint64_t bytes, tokens;
};

struct compacted {
	size_t observations; /* cut down by this */
	uint64_t bytes;      /* left out by this */
	uint64_t tokens;     /* of all that is left, as judged */
};

/** compact_tokens() - Judge how many tokens so many bytes are */
uint64_t compact_tokens(uint64_t bytes, const struct gauge *g);

/**
 * compact_chat() - Cut down observations, the oldest first, until it fits
 * @target:	Tokens to come down to
 * @done:	Overwritten
 *
 * Return: 0 (also where it still does not fit), or -E2BIG
 */
int compact_chat(struct chat *c, uint64_t target, const struct gauge *g,
		 struct compacted *done, struct err *e);

#endif
