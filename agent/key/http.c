/* SPDX-License-Identifier: MIT */
/*
 * http.c - one POST over libcurl: see http.h
 */
#include <curl/curl.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "agent/base/memory.h"
#include "agent/base/units.h"
#include "agent/key/http.h"

#define CONNECT_MS 10000L
#define POLL_MS 1000
#define HEAD_BYTES_MAX 400000 /* a bit more than libcurl's own bound, which it tells */
#define LONGEST_RETRY_AFTER_S 1000000 /* so that milliseconds never overflow */

struct http {
	CURLM *multi;
	CURL *easy;
	struct curl_slist *headers;
	struct curl_slist key_header; /* its line lies with the key */
	char curl_error[CURL_ERROR_SIZE];
};

/* one POST while it runs */
struct transfer {
	struct http *h;
	const struct http_asker *asker;
	size_t head_bytes; /* of headers, and of trailers, which libcurl keeps all of */
};

/* failures of a connection that may pass; all others (TLS, address) will not */
static const CURLcode passing[] = {
	CURLE_COULDNT_RESOLVE_HOST,
	CURLE_COULDNT_RESOLVE_PROXY,
	CURLE_COULDNT_CONNECT,
	CURLE_OPERATION_TIMEDOUT,
	CURLE_GOT_NOTHING,
	CURLE_SEND_ERROR,
	CURLE_RECV_ERROR,
	CURLE_PARTIAL_FILE,
	CURLE_HTTP2,
	CURLE_HTTP2_STREAM,
	CURLE_WEIRD_SERVER_REPLY,
	/* a status line that was cut off looks like HTTP/0.9 */
	CURLE_UNSUPPORTED_PROTOCOL,
};

/* libcurl calls it for the final answer alone, when its headers are whole */
static size_t take_bytes(char *bytes, size_t size, size_t count, void *arg)
{
	const struct transfer *t = arg;
	const char *type = NULL;
	long status = 0;

	(void)curl_easy_getinfo(t->h->easy, CURLINFO_RESPONSE_CODE, &status);
	(void)curl_easy_getinfo(t->h->easy, CURLINFO_CONTENT_TYPE, &type);
	t->asker->take(t->asker->arg,
		       status == 200 && type &&
			       strncasecmp(type, "text/event-stream", 17) == 0,
		       bytes, size * count);
	return size * count;
}

/* libcurl bounds headers, but no trailers */
static size_t take_head(char *bytes, size_t size, size_t count, void *arg)
{
	struct transfer *t = arg;

	(void)bytes;
	t->head_bytes += size * count;
	return t->head_bytes > HEAD_BYTES_MAX ? 0 : size * count;
}

static int add_headers(struct http *h, const struct http_place *place, struct key *key,
		       struct err *e)
{
	const char *const lines[] = {
		"Content-Type: application/json",
		"Expect:", /* no wait for "100 Continue" */
		place->header,
	};

	for (size_t i = 0; i < COUNT(lines) && lines[i]; i++) {
		struct curl_slist *more = curl_slist_append(h->headers, lines[i]);

		if (!more)
			return err_set(e, ENOMEM, "http");
		h->headers = more;
	}
	/* in front, from where it is: libcurl copies none of a list's lines */
	h->key_header = (struct curl_slist){
		(char *)(uintptr_t)key_header(key, place->key_prefix), h->headers
	};
	return 0;
}

static int set_options(struct http *h, const struct http_place *place,
		       const struct reach *to, bool has_key, struct err *e)
{
	CURLcode bad = CURLE_OK;

#define SET(option, value)                                                               \
	(bad = bad ? bad : curl_easy_setopt(h->easy, CURLOPT_##option, value))
	SET(URL, place->url);
	SET(HTTPHEADER, has_key ? &h->key_header : h->headers);
	SET(ERRORBUFFER, h->curl_error);
	SET(NOSIGNAL, 1L);
	SET(QUICK_EXIT, 1L); /* a thread that looks up a name is not waited for */
	SET(PROTOCOLS_STR, "http,https");
	SET(FOLLOWLOCATION, 0L);
	SET(NETRC, (long)CURL_NETRC_IGNORED);
	SET(SSL_VERIFYPEER, 1L);
	SET(SSL_VERIFYHOST, 2L);
	SET(CONNECTTIMEOUT_MS, CONNECT_MS);
	SET(USERAGENT, "stepjail-agent");
	SET(WRITEFUNCTION, take_bytes);
	SET(HEADERFUNCTION, take_head);
	if (to->here) /* what is asked of this host is for no proxy to hear */
		SET(PROXY, "");
#undef SET
	if (bad)
		return err_say(e, ENOTSUP, "libcurl: %s", curl_easy_strerror(bad));
	return 0;
}

int http_open(struct http **out, const struct http_place *place, const struct reach *to,
	      struct key *key, struct err *e)
{
	struct http *h = memory_zeroed(1, sizeof(*h));
	bool has_key = key->length > 0;
	int r = 0;

	*out = h;
	if (has_key && !to->https && !to->here)
		return err_say(
			e, EPERM,
			"--base-url: the key would travel in clear text to %.200s; use https, or unset the key where the server needs none",
			place->url);
	h->multi = curl_multi_init();
	h->easy = curl_easy_init();
	if (!h->multi || !h->easy)
		r = err_set(e, ENOMEM, "http");
	if (r == 0)
		r = add_headers(h, place, key, e);
	return r < 0 ? r : set_options(h, place, to, has_key, e);
}

/* drive the transfer to its end; false where it was cut short */
static bool drive(struct transfer *t, CURLcode *result)
{
	const struct http_asker *asker = t->asker;
	struct curl_waitfd extra = { .fd = asker->fd, .events = CURL_WAIT_POLLIN };
	int running = 1, left;

	while (running) {
		if (curl_multi_perform(t->h->multi, &running) != CURLM_OK)
			return true;
		if (!running)
			break;

		uint64_t left_ms = units_left_ms(asker->until_ms(asker->arg));

		if (!left_ms)
			return false;
		(void)curl_multi_poll(t->h->multi, &extra, 1,
				      left_ms < POLL_MS ? (int)left_ms : POLL_MS, NULL);
	}

	const CURLMsg *msg = curl_multi_info_read(t->h->multi, &left);

	if (msg && msg->msg == CURLMSG_DONE)
		*result = msg->data.result;
	return true;
}

static int judge(struct transfer *t, CURLcode result, struct err *e)
{
	const char *words = t->h->curl_error;

	if (t->head_bytes > HEAD_BYTES_MAX)
		return err_say(e, EFBIG,
			       "the model's server sent more than %d bytes of headers",
			       HEAD_BYTES_MAX);
	if (result == CURLE_OK)
		return 0;
	if (!words[0])
		words = curl_easy_strerror(result);
	for (size_t i = 0; i < sizeof(passing) / sizeof(passing[0]); i++)
		if (result == passing[i])
			return err_say(e, EAGAIN, "%s", words);
	return err_say(e, EIO, "%s", words);
}

int http_post(struct http *h, const char *body, size_t length,
	      const struct http_asker *asker, struct http_end *end, struct err *e)
{
	struct transfer t = { .h = h, .asker = asker };
	CURLcode result = CURLE_FAILED_INIT;
	curl_off_t retry_after_s = 0;

	*end = (struct http_end){ 0 };
	h->curl_error[0] = '\0';
	(void)curl_easy_setopt(h->easy, CURLOPT_POSTFIELDS, body);
	(void)curl_easy_setopt(h->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)length);
	(void)curl_easy_setopt(h->easy, CURLOPT_WRITEDATA, &t);
	(void)curl_easy_setopt(h->easy, CURLOPT_HEADERDATA, &t);
	if (curl_multi_add_handle(h->multi, h->easy) != CURLM_OK)
		return err_say(e, EIO, "libcurl: cannot start a transfer");

	bool ended = drive(&t, &result);

	(void)curl_multi_remove_handle(h->multi, h->easy);
	(void)curl_easy_getinfo(h->easy, CURLINFO_RESPONSE_CODE, &end->status);
	(void)curl_easy_getinfo(h->easy, CURLINFO_RETRY_AFTER, &retry_after_s);
	if (retry_after_s > LONGEST_RETRY_AFTER_S)
		retry_after_s = LONGEST_RETRY_AFTER_S;
	if (retry_after_s > 0)
		end->retry_after_ms = (uint64_t)retry_after_s * 1000;
	return ended ? judge(&t, result, e)
		     : err_say(e, ECANCELED, "the request was given up");
}

void http_close(struct http *h)
{
	if (!h)
		return;
	curl_slist_free_all(h->headers);
	curl_easy_cleanup(h->easy);
	if (h->multi)
		(void)curl_multi_cleanup(h->multi);
	free(h);
}
