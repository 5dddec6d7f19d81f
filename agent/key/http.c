/* SPDX-License-Identifier: MIT */
/*
 * http.c - one POST over libcurl: see http.h
 */
#include <ctype.h>
#include <strings.h>

#include "agent/key/http.h"

#define CONNECT_MS 10000L
#define HEAD_BYTES_MAX 400000 /* a bit more than libcurl's own bound, which it tells */
#define LONGEST_RETRY_AFTER_S 1000000 /* so that milliseconds never overflow */

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
	const struct http *h = arg;
	const char *type = NULL;
	long status = 0;

	(void)curl_easy_getinfo(h->easy, CURLINFO_RESPONSE_CODE, &status);
	(void)curl_easy_getinfo(h->easy, CURLINFO_CONTENT_TYPE, &type);
	h->asker->take(h->asker->arg,
		       status == 200 && type &&
			       strncasecmp(type, "text/event-stream", 17) == 0,
		       bytes, size * count);
	return size * count;
}

/* libcurl bounds headers, but no trailers */
static size_t take_head(char *bytes, size_t size, size_t count, void *arg)
{
	struct http *h = arg;

	(void)bytes;
	h->head_bytes += size * count;
	return h->head_bytes > HEAD_BYTES_MAX ? 0 : size * count;
}

/* of what is done so far libcurl tells more than is needed */
static int is_enough(void *arg, curl_off_t down_all, curl_off_t down, curl_off_t up_all,
		     curl_off_t up)
{
	const struct http *h = arg;

	(void)(down_all + down + up_all + up);
	return h->asker->enough(h->asker->arg);
}

/* a line of --header-file: a name (RFC 9110) that is not one of the agent's own, and a
 * value, which may be secret and is in no message */
static int check_line(const char *line, struct err *e)
{
	static const char *const own[] = {
		"Authorization",   "x-api-key",        "Host",           "Content-Type",
		"Expect",          "Connection",       "Content-Length", "User-Agent",
		"Accept-Encoding", "Transfer-Encoding"
	};
	size_t name = 0;
	bool good = true;

	while (isalnum((unsigned char)line[name]) ||
	       (line[name] && strchr("!#$%&'*+-.^_`|~", line[name])))
		name++;
	for (const char *c = line; *c; c++)
		good &= (unsigned char)*c >= ' ' && *c != 0x7f;
	if (!good || !name || line[name] != ':' ||
	    !line[name + 1 + strspn(line + name + 1, " ")])
		return err_say(
			e, EINVAL,
			"--header-file: a line is not of the form Name: value, or has a control character in it");
	for (size_t i = 0; i < COUNT(own); i++)
		if (strlen(own[i]) == name && strncasecmp(own[i], line, name) == 0)
			return err_say(
				e, EINVAL,
				"--header-file: %s is a header that the agent sends itself: remove it",
				own[i]);
	return 0;
}

/* the list in its own memory: libcurl copies none of a list's lines, and the key's is to
 * be sent from where it is */
static int set_lines(struct http *h, const struct http_place *place, struct key *key,
		     struct err *e)
{
	const char *lines[HTTP_LINES + 2] = {
		"Content-Type: application/json",
		"Expect:", /* no wait for "100 Continue" */
		key->length ? key_header(key, place->key_prefix) : place->header,
		key->length ? place->header : NULL,
	};

	char *rest = place->more;
	size_t own = 0, count;

	while (lines[own])
		own++;
	for (count = own; (lines[count] = strsep(&rest, "\r\n"));) {
		if (!*lines[count])
			continue;
		if (check_line(lines[count++], e) < 0)
			return -e->errnum;
		if (count - own > HTTP_LINES_MORE)
			return err_say(e, E2BIG,
				       "--header-file: there are more than %d lines",
				       HTTP_LINES_MORE);
	}
	for (size_t i = 0; i < count; i++)
		h->lines[i] =
			(struct curl_slist){ (char *)(uintptr_t)lines[i],
					     i + 1 < count ? &h->lines[i + 1] : NULL };
	return 0;
}

int http_open(struct http *h, const struct http_place *place, const struct reach *to,
	      struct key *key, struct err *e)
{
	CURLcode bad = CURLE_OK;

	if (key->length && !to->https && !to->here)
		return err_say(
			e, EPERM,
			"--base-url: the key would travel in clear text to %.200s; use https, or unset the key where the server needs none",
			place->url);
	h->easy = curl_easy_init();
	if (!h->easy)
		return err_say(e, ENOTSUP, "libcurl cannot be set up");
	if (set_lines(h, place, key, e) < 0)
		return -e->errnum;
#define SET(option, value)                                                               \
	(bad = bad ? bad : curl_easy_setopt(h->easy, CURLOPT_##option, value))
	SET(URL, place->url);
	SET(HTTPHEADER, h->lines);
	SET(ERRORBUFFER, h->words);
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
	SET(WRITEDATA, h);
	SET(HEADERFUNCTION, take_head);
	SET(HEADERDATA, h);
	SET(NOPROGRESS, 0L);
	SET(XFERINFOFUNCTION, is_enough);
	SET(XFERINFODATA, h);
	if (to->here) /* what is asked of this host is for no proxy to hear */
		SET(PROXY, "");
#undef SET
	if (bad)
		return err_say(e, ENOTSUP, "libcurl: %s", curl_easy_strerror(bad));
	return 0;
}

static int judge(const struct http *h, CURLcode result, struct err *e)
{
	const char *words = h->words[0] ? h->words : curl_easy_strerror(result);

	if (h->head_bytes > HEAD_BYTES_MAX)
		return err_say(e, EFBIG,
			       "the model's server sent more than %d bytes of headers",
			       HEAD_BYTES_MAX);
	if (result == CURLE_OK)
		return 0;
	if (result == CURLE_ABORTED_BY_CALLBACK)
		return err_say(e, ECANCELED, "the request was given up");
	for (size_t i = 0; i < COUNT(passing); i++)
		if (result == passing[i])
			return err_say(e, EAGAIN, "%s", words);
	return err_say(e, EIO, "%s", words);
}

int http_post(struct http *h, const char *body, size_t length,
	      const struct http_asker *asker, struct http_end *end, struct err *e)
{
	curl_off_t retry_after_s = 0;

	*end = (struct http_end){ 0 };
	h->words[0] = '\0';
	h->head_bytes = 0;
	h->asker = asker;
	(void)curl_easy_setopt(h->easy, CURLOPT_POSTFIELDS, body);
	(void)curl_easy_setopt(h->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)length);

	CURLcode result = curl_easy_perform(h->easy);

	(void)curl_easy_getinfo(h->easy, CURLINFO_RESPONSE_CODE, &end->status);
	(void)curl_easy_getinfo(h->easy, CURLINFO_RETRY_AFTER, &retry_after_s);
	if (retry_after_s > LONGEST_RETRY_AFTER_S)
		retry_after_s = LONGEST_RETRY_AFTER_S;
	if (retry_after_s > 0)
		end->retry_after_ms = (uint64_t)retry_after_s * 1000;
	return judge(h, result, e);
}
