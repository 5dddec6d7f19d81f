/* SPDX-License-Identifier: MIT */
/*
 * chat.h - the conversation with a model so far, and how it is made to fit the model
 */
#pragma once

#include "agent/base/json.h"
#include "agent/model/reply.h"

enum role { ROLE_SYSTEM, ROLE_USER, ROLE_ASSISTANT };

struct message {
	enum role role;
	char *text;         /* UTF-8 without NUL: mended on the way in */
	struct call *calls; /* ROLE_ASSISTANT: their arguments are JSON objects */
	size_t call_count;
	char *call_id;    /* ROLE_USER: the call that this is the result of, or NULL */
	cJSON *pictures;  /* of an observation: PNG as base64, strings; or NULL */
	bool observation; /* may be cut down to its first line */
};

struct chat {
	struct message *list;
	size_t count, room;
	cJSON *shown; /* pictures of the observation that is added next, likewise */
};

/* so that a request stays below what servers take */
#define CHAT_PICTURES_MAX 8
#define CHAT_PICTURE_BYTES ((size_t)2 << 20) /* as PNG; for callers to hold */

/**
 * chat_add() - Add a message
 * @text:	Any bytes; what is no UTF-8 becomes U+FFFD
 */
void chat_add(struct chat *c, enum role role, const char *text, size_t length);

/** chat_add_reply() - Add what the model said, its calls too */
void chat_add_reply(struct chat *c, const struct reply *reply);

/**
 * chat_add_observation() - Add what became of the last reply
 *
 * Where it made calls, this is the result of the first; those of the others point to it,
 * for interfaces want one for each.
 */
void chat_add_observation(struct chat *c, const char *text, size_t length);

/** chat_show() - Let the observation that is added next have a picture; of more than
 * CHAT_PICTURES_MAX in all, the oldest are forgotten then */
void chat_show(struct chat *c, const struct text *png);

/** chat_settle() - Where the last message has calls, that is what became of them */
void chat_settle(struct chat *c, const char *words);

/** chat_bytes() - Of all texts, and something for what is written around each */
uint64_t chat_bytes(const struct chat *c);

/** chat_cut() - Forget all messages behind the first @count */
void chat_cut(struct chat *c, size_t count);

/** chat_free() - Free all messages */
void chat_free(struct chat *c);

/* as both interfaces spell each enum role */
extern const char *const chat_roles[];

/*
 * A conversation that fits the model: old observations cut down
 *
 * Of an observation its first line stays, which says how the step ended. The last one is
 * never cut down, nor is anything that the model or the user said. A record keeps the
 * whole: this is about what is sent.
 *
 * Tokens are not counted here but judged by bytes, by what the server told of the last
 * request.
 */
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
 *
 * Return: what was cut down; it may still not fit
 */
struct compacted compact_chat(struct chat *c, uint64_t target, const struct gauge *g);
