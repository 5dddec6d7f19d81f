/* SPDX-License-Identifier: MIT */
/*
 * answer.h - a server's answer while it comes in, whatever interface it speaks
 *
 * Apart from the network, so that hostile answers can be tested byte by byte. A dialect
 * says how the interface writes requests and what its events mean.
 */
#ifndef STEPJAIL_AGENT_ANSWER_H
#define STEPJAIL_AGENT_ANSWER_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/chat.h"
#include "agent/key.h"
#include "agent/reply.h"
#include "agent/sse.h"

#define ANSWER_WORDS_MAX 300 /* of a server's own words that are passed on */

struct question {
	const char *model_name;
	const struct chat *chat;
	bool tools;            /* offer the tool `python` */
	uint64_t reply_tokens; /* longest reply, 0 for the server's own limit */
	bool new_limit_name;   /* chat completions: max_completion_tokens */
};

struct answer;

struct dialect {
	const char *path;       /* behind the base URL */
	const char *key_prefix; /* of the header line that holds the key */
	const char *header;     /* one that goes with each request, or NULL */
	/* append the body of a request; 0 or -ENOMEM */
	int (*ask)(const struct question *q, struct text *out, struct err *e);
	/* an event of a stream, an object; 0 or -errno as answer_feed() */
	int (*event)(struct answer *a, const cJSON *event, struct err *e);
	/* an answer that is no stream, an object; likewise */
	int (*whole)(struct answer *a, const cJSON *body, struct err *e);
};

struct answer {
	const struct dialect *dialect;
	struct reply *reply;
	struct sse sse;
	bool begun;   /* an event was understood */
	bool ended;   /* the model has come to its end, in whatever way */
	bool done;    /* and nothing more will come */
	bool counted; /* the server told tokens; as it does now: not a sum */
	uint64_t prompt_tokens, completion_tokens;
	const char *reason; /* why the model refused, for the error line; or NULL */
	const struct key
		*key; /* for answer_begin()'s caller to set: never quoted; or NULL */
};

/**
 * answer_begin() - Get ready for an answer
 * @reply:	Emptied; what comes goes there
 */
void answer_begin(struct answer *a, const struct dialect *dialect, struct reply *reply);

/**
 * answer_feed() - The next bytes of a stream
 *
 * Return: 0; -EAGAIN (broken, or the server says that it failed, and may not the next
 * time); -EBADMSG (no use in asking again); -EMSGSIZE (the conversation is too long for
 * this model); -E2BIG; -ENOMEM
 */
int answer_feed(struct answer *a, const char *bytes, size_t length, struct err *e);

/**
 * answer_body() - An answer that is no stream, the whole of it
 * @body:	Changed in place
 *
 * Return: as answer_feed()
 */
int answer_body(struct answer *a, char *body, size_t length, struct err *e);

/**
 * answer_end() - Nothing more comes
 *
 * Return: 0; -EAGAIN where the end is missing; -EBADMSG where the model refused; -E2BIG
 */
int answer_end(struct answer *a, struct err *e);

/** answer_free() - Free what is not the reply's */
void answer_free(struct answer *a);

/* what kind of failure a server tells of */
enum fault {
	FAULT_UNKNOWN, /* its status decides */
	FAULT_PASSING,
	FAULT_LASTING,
	FAULT_QUOTA,  /* no waiting mends a quota that is used up */
	FAULT_LENGTH, /* the conversation is too long for the model */
};

/**
 * answer_fault() - Read what a server says about its failure
 * @body:	A JSON object with "error" in it, or anything else
 * @words:	Gets the message, escaped and cut; stays empty where there is none
 */
enum fault answer_fault(const cJSON *body, struct text *words);

/**
 * answer_tokens() - Take over counts that the server tells, where it does
 * @prompt, @completion: Names of the members of @usage
 *
 * They are of the whole answer so far: later ones take the place of earlier ones.
 */
void answer_tokens(struct answer *a, const cJSON *usage, const char *prompt,
		   const char *completion);

/* why a model stopped, in a server's word */
struct finish_name {
	const char *name;
	enum finish finish;
};

/** answer_finish() - The model has come to its end: by which of these, where it is one */
void answer_finish(struct answer *a, const char *name, const struct finish_name *names,
		   size_t count);

/** answer_text() - Append a piece of the model's words, mended */
void answer_text(struct text *into, const char *piece);

/** answer_arguments() - Append a piece of a call's arguments: text, or an object */
void answer_arguments(struct call *c, const cJSON *piece);

extern const struct dialect openai_dialect;
extern const struct dialect anthropic_dialect;

#endif
