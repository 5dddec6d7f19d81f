/* SPDX-License-Identifier: MIT */
/*
 * http.h - one POST of JSON over libcurl: bounded, timed, and ended by a signal at once
 */
#ifndef STEPJAIL_AGENT_HTTP_H
#define STEPJAIL_AGENT_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/stop.h"
#include "agent/base/text.h"
#include "agent/key/key.h"
#include "init/err.h"

struct http; /* a connection that is kept for the next request */

struct http_place {
	const char *url;        /* http or https */
	const char *key_prefix; /* of the header line that holds the key */
	const char *header;     /* one that goes with each request, or NULL */
	size_t body_max;        /* longest answer that is taken and no stream */
};

/* who reads an answer of status 200 that is an event stream */
struct http_reader {
	/* 0; 1 where no more is needed; or -errno, with the reader's own words in @e */
	int (*take)(void *arg, const char *bytes, size_t length, struct err *e);
	void *arg;
};

struct http_limits {
	uint64_t total_ms;
	uint64_t silence_ms; /* longest time without a byte */
};

struct http_answer {
	long status;
	bool streamed;           /* it went to the reader */
	uint64_t retry_after_ms; /* from Retry-After, seconds or date; 0 for none */
	struct text body;        /* of what was no stream */
};

/** http_is_here() - Whether a host, as curl_url_get(3) gives it, is this one */
bool http_is_here(const char *host);

/**
 * http_open() - Get ready to post to one address
 * @key:	No key, no header. Refused on plain http to any host but this one. Stays
 * valid, for its header is sent from where it is
 *
 * Return: 0, -EINVAL (address), -EPERM (key in clear text) or -ENOMEM
 */
int http_open(struct http **h, const struct http_place *place, struct key *key,
	      struct err *e);

/**
 * http_post() - Send, and wait for the whole answer
 * @answer:	Overwritten; text_free(&answer->body)
 *
 * Redirects are not followed: the key is for this host alone. A proxy of the environment
 * (https_proxy and its like, see curl(1)) is asked, but for this host; to one, https is a
 * tunnel.
 *
 * Return: 0 for an answer of any status; -EINTR (a signal came); -EAGAIN (the connection
 * failed in a way that may pass, maybe in the middle of a stream); -EFBIG (answer too
 * long); -ECANCELED (the reader would not go on: @e is the reader's); -EIO (any other
 * failure)
 */
int http_post(struct http *h, const struct text *body, const struct http_limits *limits,
	      struct stop *stop, const struct http_reader *reader,
	      struct http_answer *answer, struct err *e);

/** http_close() - Close the connection */
void http_close(struct http *h);

#endif
