/* SPDX-License-Identifier: MIT */
/*
 * request.h - what the client of `serve` asks for, for the files that do it
 */
#pragma once

#include "jail/serve/session/session.h"

/* a frame, taken apart */
struct request {
	struct serve *serve;
	struct session *session; /* of its number, or NULL */
	struct branch *branch;   /* of its name, or NULL */
	struct step *step;       /* that runs there, where its row needs one */
	uint16_t type;
	uint32_t number, name;     /* of both, as asked for */
	const unsigned char *body; /* behind the struct of its row */
	size_t length;
	uint32_t more;      /* the number behind the struct, where its row takes one */
	struct refusal why; /* if it is refused */
	union {
		struct serve_limits limits;
		struct serve_state state;
		struct serve_file file;
	} head;
};

/** request_serve() - Take a frame of the client */
void request_serve(struct serve *s, const struct wire_header *h,
		   const unsigned char *payload);

/**
 * request_failed() - Note the kind of a refusal whose line is written already
 * @limit:	The option or thing that REFUSAL_LIMIT is about, or NULL
 * @r:		-errno of the error that has the line
 *
 * Return: @r
 */
static inline int request_failed(struct request *q, enum refusal_kind kind,
				 const char *limit, int r)
{
	q->why.kind = kind;
	q->why.limit = limit;
	return r;
}

/** request_asked() - The same for what a state was asked for; 0 or more is no refusal */
static inline int request_asked(struct request *q, int r)
{
	struct refusal why = refusal_of_step(-r);

	return r >= 0 ? r : request_failed(q, why.kind, why.limit, r);
}

/* request_data.c: sources and files. Each returns 0, or -errno for REFUSED */
int request_code(struct request *q, struct err *e);
int request_put(struct request *q, struct err *e);
int request_data(struct request *q, struct err *e);
int request_end(struct request *q, struct err *e);
int request_read(struct request *q, struct err *e); /* GET and LIST */

/** request_take_source() - The source of the branch's next step, sealed; or -errno */
int request_take_source(struct request *q, struct err *e);

/** request_once() - The source of ONCE, as far as it has come, and how much is to come */
int request_once(struct request *q, struct once *once, struct err *e);
