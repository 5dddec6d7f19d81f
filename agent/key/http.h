/* SPDX-License-Identifier: MIT */
/*
 * http.h - one POST of JSON over libcurl, in the model client (client.h)
 */
#pragma once

#include <curl/curl.h>

#include "agent/key/key.h"
#include "agent/key/reach.h"

#define HTTP_LINES_MORE 32               /* of --header-file */
#define HTTP_LINES (4 + HTTP_LINES_MORE) /* of headers that are sent */

struct http_place {
	const char *url;        /* see reach_server() */
	const char *key_prefix; /* of the header line that holds the key */
	const char *header;     /* one that goes with each request, or NULL */
	char *more;             /* further ones, a line each; is changed; or NULL */
};

/* who asks, and takes the answer */
struct http_asker {
	/* the next bytes; @streamed: of an event stream with status 200 */
	void (*take)(void *arg, bool streamed, const char *bytes, size_t length);
	/* whether it is enough; asked with each byte that moves, and once a second */
	bool (*enough)(void *arg);
	void *arg;
};

/* a connection, which is kept for the next request */
struct http {
	CURL *easy;
	struct curl_slist lines[HTTP_LINES];
	char words[CURL_ERROR_SIZE]; /* libcurl's, about a failure */
	/* of the request that runs */
	const struct http_asker *asker;
	size_t head_bytes; /* of headers, and of trailers, which libcurl keeps all of */
};

struct http_end {
	long status;             /* 0 where there was none */
	uint64_t retry_after_ms; /* from Retry-After, seconds or date; 0 for none */
};

/**
 * http_open() - Get ready to post to one address
 * @h:		Zeroed; stays where it is, and so do the strings of @place
 * @to:		From reach_server()
 * @key:	No key, no header. Refused on plain http to any host but this one. Stays
 *		valid, for its header is sent from where it is
 *
 * Return: 0, -EPERM (key in clear text), -EINVAL or -E2BIG (a header), or -ENOTSUP
 */
int http_open(struct http *h, const struct http_place *place, const struct reach *to,
	      struct key *key, struct err *e);

/**
 * http_post() - Send, and wait for the whole answer
 * @end:	Overwritten
 *
 * Redirects are not followed: the key is for this host alone. A proxy of the environment
 * (https_proxy and its like, see curl(1)) is asked, but for this host; to one, https is a
 * tunnel. A name look-up that has not ended is left to itself.
 *
 * Return: 0 for an answer of any status; -ECANCELED (it was enough); -EAGAIN (the
 * connection failed in a way that may pass, maybe in the middle of a stream); -EFBIG
 * (too many headers); -EIO (any other failure)
 */
int http_post(struct http *h, const char *body, size_t length,
	      const struct http_asker *asker, struct http_end *end, struct err *e);
