/* SPDX-License-Identifier: MIT */
/*
 * client.h - the model client: the one process that has the key and the network
 *
 * The main process parses what models say and jails print. So that nobody who takes it
 * over finds a key or a way out there, it forks this process first, which then reads the
 * key, and alone has libcurl, TLS, name look-ups and sockets. Address, path, headers and
 * method are fixed as it starts: it is given the body of a request, and nothing else, and
 * gives back the bytes of the answer, the key in them overwritten with asterisks. What
 * they mean is not for it to know.
 *
 *	main process	client_open() forks it and forgets the variables with keys, before
 *			anything hostile is heard; client_post() asks it
 *	client		reads the key from its file, or from its own copy of the
 *			variables; closes every fd but its socket, confines itself, says
 *			what came of that (struct client_hello), and serves one request at
 *			a time (client_run.c)
 *
 * Copies of the key are in the client alone: in pages of its own (key.h), in libcurl's
 * buffer of the request that it sends, and in those of TLS. The main process has none, at
 * no time: the bytes of a variable are overwritten in its own memory as well.
 *
 * The client ends with the main process: by PR_SET_PDEATHSIG, and at the end of its
 * socket. The main process notices its end in client_post().
 */
#pragma once

#include <sys/types.h>

#include "agent/base/stop.h"
#include "agent/key/http.h"
#include "agent/key/mask.h"

#define CLIENT_BODY_MAX TEXT_MAX_BYTES /* of a request */

struct client_plan {
	struct http_place place;
	const char *key_file;     /* --key-file, or NULL */
	const char *header_file;  /* --header-file, or NULL */
	const char *key_variable; /* such as OPENAI_API_KEY, or NULL */
	bool required;            /* to be confined in part is a failure */
};

/* what it says when it is ready; trusted: it has heard nobody yet */
struct client_hello {
	struct err e; /* errnum 0: it is ready */
	bool has_key;
	struct confine_facts facts;
	struct mask mask; /* what client_open()'s caller finds the key in texts with */
};

struct client {
	pid_t pid;
	int pidfd;
	int socket; /* -1 when no more is to be said */
	struct stop *stop;
	struct reach reach;
	struct confine_policy policy;
	struct client_hello hello;
};

struct client_request {
	const struct text *body; /* of CLIENT_BODY_MAX at most, as texts are */
	uint64_t total_ms;
	uint64_t silence_ms; /* longest time without a byte */
	size_t answer_max;   /* longest answer that is taken and no stream, in bytes */
	/* who reads an answer of status 200 that is an event stream: 0; 1 where no more
	 * is needed; or -errno, with the reader's own words in @e */
	int (*take)(void *arg, const char *bytes, size_t length, struct err *e);
	void *arg;
};

struct client_answer {
	long status;
	bool streamed;           /* it went to the reader */
	uint64_t retry_after_ms; /* from Retry-After, seconds or date; 0 for none */
	struct text body;        /* of what was no stream */
};

/**
 * client_open() - Fork it, and wait until it is confined
 * @plan:	Only read
 * @stop:	Ends every wait; stays valid
 *
 * Should be called behind broker_open(), and before the caller is confined.
 *
 * Return: 0, -EINTR, or -errno of reach_server(), or with the client's own words: of
 * key_load(), http_open() or confine_self()
 */
int client_open(struct client **out, const struct client_plan *plan, struct stop *stop,
		struct err *e);

/**
 * client_post() - Have a body sent, and wait for the whole answer
 * @answer:	Overwritten; text_free(&answer->body)
 *
 * Return: 0 for an answer of any status; -EINTR (a signal came); -EAGAIN (the connection
 * failed in a way that may pass, maybe in the middle of a stream); -EFBIG (answer too
 * long); -ECANCELED (the reader would not go on: @e is the reader's); -EPIPE (the client
 * is gone, or makes no sense: for good); -EIO (any other failure)
 */
int client_post(struct client *c, const struct client_request *request,
		struct client_answer *answer, struct err *e);

/** client_close() - End it, whatever it is doing; NULL is nothing */
void client_close(struct client *c);
