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

#include "agent/http.h"
#include "agent/units.h"

#define CONNECT_MS 10000L
#define POLL_MS 1000
#define LONGEST_RETRY_AFTER_S 1000000 /* so that milliseconds never overflow */

struct http {
	CURLM *multi;
	CURL *easy;
	struct curl_slist *headers;
	char *url;
	size_t body_max;
	char curl_error[CURL_ERROR_SIZE];
};

/* failures of a connection that may pass; all others (TLS, address) will not */
static const CURLcode passing[] = {
	CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_CONNECT,
	CURLE_OPERATION_TIMEDOUT,   CURLE_GOT_NOTHING,           CURLE_SEND_ERROR,
	CURLE_RECV_ERROR,           CURLE_PARTIAL_FILE,          CURLE_HTTP2,
	CURLE_HTTP2_STREAM,
};

static bool is_loopback(const char *host)
{
	return strcmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0 ||
	       (strncmp(host, "127.", 4) == 0 &&
		strspn(host, "0123456789.") == strlen(host));
}

static int check_url(const char *url, bool has_key, struct err *e)
{
	CURLU *parts = curl_url();
	char *scheme = NULL, *host = NULL, *user = NULL;
	int r = 0;

	if (!parts)
		return err_set(e, ENOMEM, "--base-url");
	if (curl_url_set(parts, CURLUPART_URL, url, 0) != CURLUE_OK ||
	    curl_url_get(parts, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK ||
	    curl_url_get(parts, CURLUPART_HOST, &host, 0) != CURLUE_OK)
		r = err_say(e, EINVAL,
			    "--base-url: '%.200s' is not an address such as "
			    "https://api.openai.com/v1",
			    url);
	else if (strcmp(scheme, "https") != 0 && strcmp(scheme, "http") != 0)
		r = err_say(e, EINVAL,
			    "--base-url: '%s' is not spoken; only http and https",
			    scheme);
	else if (curl_url_get(parts, CURLUPART_USER, &user, 0) == CURLUE_OK)
		r = err_say(e, EINVAL,
			    "--base-url: an address with a user or password in "
			    "it is not taken; give the key by environment or "
			    "--key-file");
	else if (has_key && strcmp(scheme, "http") == 0 && !is_loopback(host))
		r = err_say(e, EPERM,
			    "--base-url: the key would travel in clear text to "
			    "%.100s; use https, or unset the key where the server "
			    "needs none",
			    host);
	curl_free(scheme);
	curl_free(host);
	curl_free(user);
	curl_url_cleanup(parts);
	return r;
}

static size_t take_body(char *bytes, size_t size, size_t count, void *arg)
{
	struct text *body = arg;

	text_add(body, bytes, size * count);
	return body->failed ? 0 : size * count; /* 0 ends the transfer */
}

static int add_header(struct http *h, const char *line, struct err *e)
{
	struct curl_slist *more = curl_slist_append(h->headers, line);

	if (!more)
		return err_set(e, ENOMEM, "http");
	h->headers = more;
	return 0;
}

static int add_headers(struct http *h, const struct key *key, struct err *e)
{
	char line[KEY_MAX + 32];
	int r = add_header(h, "Content-Type: application/json", e);

	if (r == 0)
		r = add_header(h, "Expect:", e); /* no wait for "100 Continue" */
	if (r == 0 && key->length) {
		(void)snprintf(line, sizeof(line), "Authorization: Bearer %s",
			       key->bytes);
		r = add_header(h, line, e);
		explicit_bzero(line, sizeof(line));
	}
	return r;
}

static int set_options(struct http *h, bool has_key, struct err *e)
{
	CURLcode bad = CURLE_OK;

#define SET(option, value)                                                               \
	(bad = bad ? bad : curl_easy_setopt(h->easy, CURLOPT_##option, value))
	SET(URL, h->url);
	SET(HTTPHEADER, h->headers);
	SET(ERRORBUFFER, h->curl_error);
	SET(NOSIGNAL, 1L);
	SET(PROTOCOLS_STR, "http,https");
	SET(FOLLOWLOCATION, 0L);
	SET(NETRC, (long)CURL_NETRC_IGNORED);
	SET(SSL_VERIFYPEER, 1L);
	SET(SSL_VERIFYHOST, 2L);
	SET(CONNECTTIMEOUT_MS, CONNECT_MS);
	SET(USERAGENT, "stepjail-agent");
	SET(WRITEFUNCTION, take_body);
	/* a key in clear text goes to this host alone: not to the proxy either */
	if (has_key && strncasecmp(h->url, "http:", 5) == 0)
		SET(PROXY, "");
#undef SET
	if (bad)
		return err_say(e, ENOTSUP, "libcurl: %s", curl_easy_strerror(bad));
	return 0;
}

int http_open(struct http **out, const char *url, const struct key *key, size_t body_max,
	      struct err *e)
{
	int r = check_url(url, key->length > 0, e);

	if (r < 0)
		return r;

	struct http *h = calloc(1, sizeof(*h));

	if (!h)
		return err_set(e, ENOMEM, "http");
	h->url = strdup(url);
	h->multi = curl_multi_init();
	h->easy = curl_easy_init();
	h->body_max = body_max;
	if (!h->url || !h->multi || !h->easy)
		r = err_set(e, ENOMEM, "http");
	if (r == 0)
		r = add_headers(h, key, e);
	if (r == 0)
		r = set_options(h, key->length > 0, e);
	if (r < 0)
		http_close(h);
	else
		*out = h;
	return r;
}

/* drive the transfer to its end; 0, or -EINTR */
static int drive(struct http *h, struct stop *stop, CURLcode *result)
{
	struct curl_waitfd extra = { .fd = stop->fd, .events = CURL_WAIT_POLLIN };
	int running = 1;

	while (running) {
		if (stop_came(stop))
			return -EINTR;
		if (curl_multi_perform(h->multi, &running) != CURLM_OK)
			return 0;
		if (running)
			(void)curl_multi_poll(h->multi, &extra, 1, POLL_MS, NULL);
	}

	int left;
	const CURLMsg *msg = curl_multi_info_read(h->multi, &left);

	if (msg && msg->msg == CURLMSG_DONE)
		*result = msg->data.result;
	return 0;
}

static int judge(struct http *h, CURLcode result, struct http_answer *answer,
		 struct err *e)
{
	curl_off_t retry_after_s = 0;
	const char *words = h->curl_error[0] ? h->curl_error : curl_easy_strerror(result);

	if (answer->body.failed == E2BIG)
		return err_say(e, EFBIG, "the model's answer is longer than %zu bytes",
			       h->body_max);
	if (result == CURLE_OK) {
		(void)curl_easy_getinfo(h->easy, CURLINFO_RESPONSE_CODE, &answer->status);
		(void)curl_easy_getinfo(h->easy, CURLINFO_RETRY_AFTER, &retry_after_s);
		if (retry_after_s > LONGEST_RETRY_AFTER_S)
			retry_after_s = LONGEST_RETRY_AFTER_S;
		if (retry_after_s > 0)
			answer->retry_after_ms = (uint64_t)retry_after_s * 1000;
		return 0;
	}
	for (size_t i = 0; i < sizeof(passing) / sizeof(passing[0]); i++)
		if (result == passing[i])
			return err_say(e, EAGAIN, "%s", words);
	return err_say(e, EIO, "%s", words);
}

int http_post(struct http *h, const char *body, size_t length, uint64_t total_ms,
	      struct stop *stop, struct http_answer *answer, struct err *e)
{
	CURLcode result = CURLE_FAILED_INIT;
	int r;

	*answer = (struct http_answer){ .body.max = h->body_max };
	h->curl_error[0] = '\0';
	(void)curl_easy_setopt(h->easy, CURLOPT_POSTFIELDS, body);
	(void)curl_easy_setopt(h->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)length);
	(void)curl_easy_setopt(h->easy, CURLOPT_TIMEOUT_MS,
			       (long)(total_ms ? total_ms : 1));
	(void)curl_easy_setopt(h->easy, CURLOPT_WRITEDATA, &answer->body);
	if (curl_multi_add_handle(h->multi, h->easy) != CURLM_OK)
		return err_say(e, EIO, "libcurl: cannot start a transfer");
	r = drive(h, stop, &result);
	(void)curl_multi_remove_handle(h->multi, h->easy);
	if (r < 0)
		return err_say(e, EINTR, "stopped by a signal");
	return judge(h, result, answer, e);
}

void http_close(struct http *h)
{
	if (!h)
		return;
	for (struct curl_slist *l = h->headers; l; l = l->next)
		explicit_bzero(l->data, strlen(l->data));
	curl_slist_free_all(h->headers);
	curl_easy_cleanup(h->easy);
	if (h->multi)
		(void)curl_multi_cleanup(h->multi);
	free(h->url);
	free(h);
}
