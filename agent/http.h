/* SPDX-License-Identifier: MIT */
/*
 * http.h - one POST of JSON over libcurl: bounded, timed, and ended by a signal at once
 */
#ifndef STEPJAIL_AGENT_HTTP_H
#define STEPJAIL_AGENT_HTTP_H

#include <stddef.h>
#include <stdint.h>

#include "agent/key.h"
#include "agent/stop.h"
#include "agent/text.h"
#include "init/err.h"

struct http; /* a connection that is kept for the next request */

struct http_answer {
	long status;
	uint64_t retry_after_ms; /* from Retry-After, seconds or date; 0 for none */
	struct text body;        /* bounded by http_open()'s body_max */
};

/**
 * http_open() - Get ready to post to one address
 * @url:	http or https; checked here
 * @key:	For "Authorization: Bearer"; no key, no header. Refused on plain http to
 * any host but this one.
 * @body_max:	Longest answer that is taken
 *
 * Return: 0, -EINVAL (address), -EPERM (key in clear text) or -ENOMEM
 */
int http_open(struct http **h, const char *url, const struct key *key, size_t body_max,
	      struct err *e);

/**
 * http_post() - Send, and wait for the whole answer
 * @total_ms:	Longest time for all of it
 * @answer:	Overwritten; text_free(&answer->body)
 *
 * Redirects are not followed: the key is for this host alone.
 *
 * Return: 0 for an answer of any status; -EINTR (a signal came); -EAGAIN (the connection
 * failed in a way that may pass); -EFBIG (answer too long); -EIO (any other failure)
 */
int http_post(struct http *h, const char *body, size_t length, uint64_t total_ms,
	      struct stop *stop, struct http_answer *answer, struct err *e);

/** http_close() - Close the connection and wipe the header that holds the key */
void http_close(struct http *h);

#endif
