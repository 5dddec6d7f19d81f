/* SPDX-License-Identifier: MIT */
/*
 * client_wire.h - what the main process and the model client say to each other (client.c,
 * client_run.c and tests only)
 *
 * First the client says struct client_hello, once. Then each says headers, @length bytes
 * behind them. Both check what comes: one that says anything else is not listened to any
 * longer.
 *
 *	to the client:		POST, ENOUGH... one request after another; ENOUGH is also
 *				allowed, and means nothing, when the answer has ended
 *	to the main process:	STREAM... or BODY..., END for each POST
 */
#pragma once

#include "agent/key/client.h"

#define CLIENT_PIECE_MAX 32768 /* bytes behind a header of an answer: 2 of libcurl's */
#define CLIENT_WAIT_MAX_MS ((uint64_t)1 << 40) /* of numbers of milliseconds */

enum client_kind {
	CLIENT_POST = 1, /* a request's body follows */
	CLIENT_ENOUGH,   /* of the answer: go on for @ms at most */
	CLIENT_STREAM,   /* bytes of an event stream with status 200 */
	CLIENT_BODY,     /* bytes of any other answer */
	CLIENT_END,      /* @errnum, as http_post() returns it, its words follow; @status;
			    Retry-After in @ms */
};

struct client_header {
	uint32_t kind;
	uint32_t length;
	int32_t errnum;
	int32_t status;
	uint64_t ms;
};

/** client_run() - Be the client of @c, in a process of its own that ends with @parent */
__attribute__((noreturn)) void client_run(const struct client_plan *plan,
					  const struct client *c, int socket,
					  pid_t parent);
