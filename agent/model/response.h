/* SPDX-License-Identifier: MIT */
/*
 * response.h - a server's answer while it comes in, whatever interface it speaks
 *
 * Apart from the network, so that hostile answers can be tested byte by byte. A dialect
 * says how the interface writes requests and what its events mean.
 */
#pragma once

#include "agent/model/model.h"

struct response;

struct dialect {
	const char *path;       /* behind the base URL */
	const char *key_prefix; /* of the header line that holds the key */
	const char *header;     /* one that goes with each request, or NULL */
	/* add a request's members to its body, as @m's plan and limits have it */
	void (*ask)(const struct model *m, const struct chat *chat, cJSON *body);
	/* an event of a stream, an object; or an answer that is no stream, any JSON; 0 or
	 * -errno as response_feed() */
	int (*event)(struct response *a, const cJSON *event, bool streamed,
		     struct err *e);
};

/*
 * A stream of server-sent events, put together from pieces cut anywhere
 *
 * As the HTML standard's chapter "Server-sent events" has it: a byte order mark before the
 * first line is dropped; a line that begins with a colon is a comment; of fields only
 * "data" counts here; an empty line ends an event; an event that the stream's end cut off
 * is none. But for one thing: lines end in LF, or CR and LF. No server is known whose
 * lines end in a CR alone.
 */
#define SSE_EVENT_MAX ((size_t)4 << 20) /* bytes of one event, and of one line */
#define SSE_STREAM_MAX ((size_t)64 << 20)

struct sse {
	struct text line; /* the beginning of one whose end is still to come */
	struct text data; /* of the event that is being read, a newline behind each */
	size_t total;     /* bytes that were taken */
	bool begun;       /* behind the first line */
	bool whole;       /* @data is all of an event's */
};

struct response {
	const struct dialect *dialect;
	struct reply *reply;
	struct sse sse;
	bool begun; /* an event was understood */
	bool ended; /* the model has come to its end, in whatever way */
	bool done;  /* and nothing more will come */
	/* of the whole answer so far, as the server told last: no sums */
	uint64_t prompt_tokens, completion_tokens;
	/* of prompt_tokens: read from a cache of the server, and written into one */
	uint64_t cached_tokens, cache_write_tokens;
	const char *reason;      /* why the model refused, for the error line; or NULL */
	const struct mask *mask; /* for response_begin()'s caller to set; or NULL */
};

/** response_ask() - Add the body of a request; 0, or -E2BIG */
int response_ask(const struct dialect *dialect, const struct model *m,
		 const struct chat *chat, struct text *out, struct err *e);

/**
 * response_begin() - Get ready for an answer
 * @a:		Overwritten; response_free() at the end
 * @reply:	Emptied; what comes goes there
 */
void response_begin(struct response *a, const struct dialect *dialect,
		    struct reply *reply);

/**
 * response_feed() - The next bytes of a stream
 *
 * Return: 0; -EAGAIN (broken, or the server says that it failed, and may not the next
 * time); -EBADMSG (no use in asking again); -EMSGSIZE (the conversation is too long for
 * this model); -E2BIG
 */
int response_feed(struct response *a, const char *bytes, size_t length, struct err *e);

/**
 * response_body() - An answer that is no stream, the whole of it
 * @body:	Changed in place
 *
 * Return: as response_feed()
 */
int response_body(struct response *a, char *body, size_t length, struct err *e);

/**
 * response_end() - Nothing more comes
 *
 * Return: 0; -EAGAIN where the end is missing; -EBADMSG where the model refused; -E2BIG
 */
int response_end(struct response *a, struct err *e);

/** response_free() - Free what is not the reply's */
void response_free(struct response *a);

/* what kind of failure a server tells of */
enum fault {
	FAULT_UNKNOWN, /* its status decides; in an answer it may pass */
	FAULT_LASTING,
	FAULT_QUOTA,  /* no waiting mends a quota that is used up */
	FAULT_LENGTH, /* the conversation is too long for the model */
};

/**
 * response_fault() - Read what a server says about its failure
 * @body:	A JSON object with "error" in it, or anything else
 * @words:	For an error line: gets the message, in quotes behind a colon, escaped and
 *		cut, and what it means for a user; stays empty where there is neither
 */
enum fault response_fault(const cJSON *body, struct text *words);

/** response_finish() - The model has come to its end, by a server's word for it; NULL:
 * it has not */
void response_finish(struct response *a, const char *word);

/** response_text() - Append a member that is a piece of the model's words, mended */
void response_text(struct text *into, const cJSON *object, const char *name);

/** response_arguments() - Append a piece of a call's arguments: text, or an object */
void response_arguments(struct call *c, const cJSON *piece);

/** response_number() - A call's or a block's "index", or -1 */
long response_number(const cJSON *piece);

extern const struct dialect openai_dialect;
extern const struct dialect anthropic_dialect;
