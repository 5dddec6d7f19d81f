/* SPDX-License-Identifier: MIT */
/*
 * http.c - one POST over libcurl: see http.h
 */
#include <arpa/inet.h>
#include <curl/curl.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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
	char *url;
	char curl_error[CURL_ERROR_SIZE];
};

/* one POST while it runs */
struct transfer {
	struct http *h;
	const struct http_asker *asker;
	bool looked, streamed; /* at status and type */
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

/* as libcurl's parser gives it: "127.1" has become "127.0.0.1" by now */
bool http_is_here(const char *host)
{
	struct in_addr ip;

	return strcasecmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0 ||
	       (strncmp(host, "127.", 4) == 0 && inet_pton(AF_INET, host, &ip) == 1);
}

static int check_url(const char *url, bool has_key, bool *here, struct err *e)
{
	CURLU *parts = curl_url();
	char *scheme = NULL, *host = NULL, *user = NULL;
	int r = 0;

	if (!parts)
		return err_set(e, ENOMEM, "--base-url");
	if (curl_url_set(parts, CURLUPART_URL, url, 0) != CURLUE_OK ||
	    curl_url_get(parts, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK ||
	    curl_url_get(parts, CURLUPART_HOST, &host, 0) != CURLUE_OK)
		r = err_say(
			e, EINVAL,
			"--base-url: '%.200s' is not an address such as https://api.openai.com/v1",
			url);
	else if (strcmp(scheme, "https") != 0 && strcmp(scheme, "http") != 0)
		r = err_say(e, EINVAL,
			    "--base-url: '%s' is not spoken; only http and https",
			    scheme);
	else if (curl_url_get(parts, CURLUPART_USER, &user, 0) == CURLUE_OK)
		r = err_say(
			e, EINVAL,
			"--base-url: an address with a user or password in it is not taken; give the key by environment or --key-file");
	else if (has_key && strcmp(scheme, "http") == 0 && !http_is_here(host))
		r = err_say(
			e, EPERM,
			"--base-url: the key would travel in clear text to %.100s; use https, or unset the key where the server needs none",
			host);
	*here = r == 0 && host && http_is_here(host);
	curl_free(scheme);
	curl_free(host);
	curl_free(user);
	curl_url_cleanup(parts);
	return r;
}

/* libcurl calls take_bytes() for the final answer alone, when its headers are whole */
static void look(struct transfer *t)
{
	const char *type = NULL;
	long status = 0;

	t->looked = true;
	(void)curl_easy_getinfo(t->h->easy, CURLINFO_RESPONSE_CODE, &status);
	(void)curl_easy_getinfo(t->h->easy, CURLINFO_CONTENT_TYPE, &type);
	t->streamed =
		status == 200 && type && strncasecmp(type, "text/event-stream", 17) == 0;
}

static size_t take_bytes(char *bytes, size_t size, size_t count, void *arg)
{
	struct transfer *t = arg;
	size_t length = size * count;

	if (!t->looked)
		look(t);
	t->asker->take(t->asker->arg, t->streamed, bytes, length);
	return length;
}

/* libcurl bounds headers, but no trailers */
static size_t take_head(char *bytes, size_t size, size_t count, void *arg)
{
	struct transfer *t = arg;

	(void)bytes;
	t->head_bytes += size * count;
	return t->head_bytes > HEAD_BYTES_MAX ? 0 : size * count;
}

static int add_header(struct http *h, const char *line, struct err *e)
{
	struct curl_slist *more = curl_slist_append(h->headers, line);

	if (!more)
		return err_set(e, ENOMEM, "http");
	h->headers = more;
	return 0;
}

static int add_headers(struct http *h, const struct http_place *place, struct key *key,
		       struct err *e)
{
	int r = add_header(h, "Content-Type: application/json", e);

	if (r == 0)
		r = add_header(h, "Expect:", e); /* no wait for "100 Continue" */
	if (r == 0 && place->header)
		r = add_header(h, place->header, e);
	if (r == 0 && key->length) {
		/* in front, from where it is: libcurl copies none of a list's lines */
		(void)key_header(key, place->key_prefix);
		h->key_header = (struct curl_slist){ key->header, h->headers };
	}
	return r;
}

static int set_options(struct http *h, bool has_key, bool here, struct err *e)
{
	CURLcode bad = CURLE_OK;

#define SET(option, value)                                                               \
	(bad = bad ? bad : curl_easy_setopt(h->easy, CURLOPT_##option, value))
	SET(URL, h->url);
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
	/* what is asked of this host is for no proxy to hear; nor is a key in clear text,
	 * which goes to this host alone */
	if (here || (has_key && strncasecmp(h->url, "http:", 5) == 0))
		SET(PROXY, "");
#undef SET
	if (bad)
		return err_say(e, ENOTSUP, "libcurl: %s", curl_easy_strerror(bad));
	return 0;
}

int http_open(struct http **out, const struct http_place *place, struct key *key,
	      struct err *e)
{
	bool here = false;
	int r = check_url(place->url, key->length > 0, &here, e);

	if (r < 0)
		return r;

	struct http *h = calloc(1, sizeof(*h));

	if (!h)
		return err_set(e, ENOMEM, "http");
	h->url = strdup(place->url);
	h->multi = curl_multi_init();
	h->easy = curl_easy_init();
	if (!h->url || !h->multi || !h->easy)
		r = err_set(e, ENOMEM, "http");
	if (r == 0)
		r = add_headers(h, place, key, e);
	if (r == 0)
		r = set_options(h, key->length > 0, here, e);
	if (r < 0)
		http_close(h);
	else
		*out = h;
	return r;
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
	free(h->url);
	free(h);
}
