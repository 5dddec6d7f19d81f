/* SPDX-License-Identifier: MIT */
/*
 * reply.h - what a model answered: words, calls of tools, and how it came to its end
 *
 * Of thinking nothing is run, nothing counts as an answer, and nothing is sent back.
 *
 * It is hostile: every part is bounded here, where it is gathered, and nothing of it is
 * shown or run as it is.
 */
#pragma once

#include <stdbool.h>

#include "agent/base/text.h"

#define REPLY_TEXT_MAX ((size_t)8 << 20)
#define REPLY_CALLS_MAX 16 /* of one reply that are kept */
#define CALL_ID_MAX 128
#define CALL_NAME_MAX 64
/* EXTRACT_CODE_MAX with every character escaped by six bytes, and some room */
#define CALL_ARGUMENTS_MAX ((size_t)2 << 20)

enum finish {
	FINISH_STOP,    /* the model ended by itself */
	FINISH_LENGTH,  /* cut off */
	FINISH_REFUSED, /* the model, or a filter before it, would not */
	FINISH_OTHER,   /* the server does not say */
};

struct call {
	long index; /* as the server numbers it while it streams; -1 for none */
	char id[CALL_ID_MAX + 1];
	char name[CALL_NAME_MAX + 1];
	struct text arguments; /* any bytes; meant to be a JSON object */
};

struct reply {
	struct text text;
	struct text reasoning; /* thinking: apart from the text, or in it (think.h) */
	struct call calls[REPLY_CALLS_MAX];
	size_t call_count;
	bool calls_dropped; /* there were more than REPLY_CALLS_MAX */
	bool nul;           /* an escaped NUL stood somewhere, and is U+FFFD now */
	enum finish finish;
};

/** reply_begin() - Empty it, its memory kept, for the next answer */
void reply_begin(struct reply *r);

/**
 * reply_call() - The call that a piece of a stream belongs to
 * @index:	The server's number, or -1 where it gives none
 * @id:		Of the piece; NULL or "" in all pieces but a call's first
 *
 * An index with another id than before is a call of its own: some servers number all of
 * them 0.
 *
 * Return: the call, a new one where there was none; NULL where there are too many
 */
struct call *reply_call(struct reply *r, long index, const char *id);

/** call_name() - Set a call's name; what no tool's name may hold becomes an underscore */
void call_name(struct call *c, const char *name);

/**
 * reply_end() - Make ids fit to be sent back: each one a plain word, and no two the same
 * @serial:	Counts the ids that were made up; kept by the caller from reply to reply
 */
void reply_end(struct reply *r, unsigned int *serial);

/** reply_free() - Free all of it */
void reply_free(struct reply *r);
