/* SPDX-License-Identifier: MIT */
/*
 * client_run.c - the model client's own process: see client.h
 *
 * Theory of operation
 *   client_run()  prepares: key, fds, connection, walls; says hello
 *   serve_one()	 reads one request, posts it, hands on what comes
 *   While a request runs, libcurl asks again and again whether it is enough: enough()
 *   reads what the main process says on the socket. Where that is nothing that it may
 *   say, this process ends.
 */
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "agent/base/file.h"
#include "agent/base/secret.h"
#include "agent/base/units.h"
#include "agent/key/client_wire.h"
#include "init/io.h"
#include "init/owner.h"

#define CLIENT_HEADERS_MAX 65536 /* bytes of --header-file */
#define SOCKET 3                 /* its number in this process */

struct running {
	struct key *key;
	struct http http;
	struct text headers; /* of --header-file */
	/* of the request that is served */
	uint64_t until_ms;
	bool streamed;
	char held[CLIENT_PIECE_MAX]; /* what is not handed on yet */
	size_t held_length;
};

/* nobody listens any more, or somebody is not the main process */
__attribute__((noreturn)) static void end(void)
{
	_exit(0);
}

static void say(const struct client_header *h, const void *bytes)
{
	if (io_write_all(SOCKET, h, sizeof(*h)) < 0 ||
	    io_write_all(SOCKET, bytes, h->length) < 0)
		end();
}

static struct client_header hear(void)
{
	struct client_header h;

	if (io_read_all(SOCKET, &h, sizeof(h)) != sizeof(h) ||
	    (h.kind != CLIENT_POST && h.kind != CLIENT_ENOUGH) ||
	    h.length > (h.kind == CLIENT_POST ? CLIENT_BODY_MAX : 0) ||
	    h.ms > CLIENT_WAIT_MAX_MS)
		end();
	return h;
}

static bool enough(void *arg)
{
	struct running *r = arg;
	struct pollfd p = { .fd = SOCKET, .events = POLLIN };

	while (poll(&p, 1, 0) > 0) {
		struct client_header h = hear();
		uint64_t last_ms = units_now_ms() + h.ms;

		if (h.kind != CLIENT_ENOUGH)
			end();
		if (last_ms < r->until_ms)
			r->until_ms = last_ms;
	}
	return units_left_ms(r->until_ms) == 0;
}

/* what may be a beginning of the key waits for what follows it */
static void hand_on(struct running *r, bool last)
{
	size_t length = r->held_length;

	size_t keep = key_redact(r->key, r->held, length, last);
	const struct client_header h = { .kind = r->streamed ? CLIENT_STREAM
							     : CLIENT_BODY,
					 .length = (uint32_t)(length - keep) };

	if (h.length)
		say(&h, r->held);
	memmove(r->held, r->held + length - keep, keep);
	r->held_length = keep;
}

static void take(void *arg, bool streamed, const char *bytes, size_t length)
{
	struct running *r = arg;

	_Static_assert(CURL_MAX_WRITE_SIZE + KEY_MAX <= CLIENT_PIECE_MAX,
		       "what libcurl gives at once fits behind what is held");

	r->streamed = streamed;
	memcpy(r->held + r->held_length, bytes, length);
	r->held_length += length;
	hand_on(r, false);
}

static void serve_one(struct running *r)
{
	const struct client_header asked = hear();
	const struct http_asker asker = { take, enough, r };
	struct http_end ended;
	struct err e = { 0 };

	if (asked.kind == CLIENT_ENOUGH) /* of an answer that has ended meanwhile */
		return;

	cleanup_free char *body = malloc((size_t)asked.length + 1);

	if (!body || io_read_all(SOCKET, body, asked.length) != (ssize_t)asked.length)
		end();
	r->until_ms = UINT64_MAX;
	r->held_length = 0;

	int errnum = -http_post(&r->http, body, asked.length, &asker, &ended, &e);

	hand_on(r, true);
	(void)key_redact(r->key, e.text, strlen(e.text), true);
	say(&(struct client_header){ .kind = CLIENT_END,
				     .length = (uint32_t)strlen(e.text),
				     .errnum = errnum,
				     .status = (int32_t)ended.status,
				     .ms = ended.retry_after_ms },
	    e.text);
}

/* nothing of the main process but the socket: no terminal, no broker, no file */
static int leave_fds(int socket, struct err *e)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return err_set(e, errno, "the model client: /dev/null");
	(void)setsid(); /* keys of the terminal are the main process's */
	for (int fd = 0; fd <= 2; fd++)
		if (dup2(null, fd) < 0)
			return err_set(e, errno, "the model client: dup2");
	if (dup2(socket, SOCKET) < 0 || close_range(SOCKET + 1, UINT_MAX, 0) < 0)
		return err_set(e, errno, "the model client: its socket");
	return 0;
}

static int read_headers(const char *path, struct text *into, struct err *e)
{
	cleanup_fd int fd = owner_secret(path, "--header-file: ", e);

	return fd < 0 ? fd : file_read_fd(fd, path, "--header-file: ", into, e);
}

/* key and headers are read first: their file may be a pipe with a number */
static int prepare(struct running *r, const struct client_plan *plan,
		   const struct client *c, int *socket, struct client_hello *hello,
		   struct err *e)
{
	struct confine_policy p = c->policy;
	struct http_place place = plan->place;

	r->key = secret_new(sizeof(*r->key), e);
	r->headers.max = CLIENT_HEADERS_MAX;
	if (!r->key || key_load(r->key, plan->key_file, plan->key_variable, e) < 0 ||
	    (plan->header_file && read_headers(plan->header_file, &r->headers, e) < 0) ||
	    leave_fds(*socket, e) < 0)
		return -e->errnum;
	*socket = SOCKET;
	place.more = r->headers.bytes;
	if (http_open(&r->http, &place, &c->reach, r->key, e) < 0 ||
	    mask_make(&hello->mask, r->key, e) < 0)
		return -e->errnum;
	if (p.needs & CONFINE_NAMES)
		reach_load_names();
	p.secret = r->key;
	p.secret_bytes = sizeof(*r->key);
	hello->has_key = r->key->length > 0;
	return confine_self(&p, &hello->facts, e);
}

void client_run(const struct client_plan *plan, const struct client *c, int socket,
		pid_t parent)
{
	static struct running r;
	struct client_hello hello = { 0 };

	(void)signal(SIGPIPE, SIG_IGN);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		end();

	int s = prepare(&r, plan, c, &socket, &hello, &hello.e);

	if (s == 0)
		hello.e = (struct err){ 0 };
	if (io_write_all(socket, &hello, sizeof(hello)) < 0 || s < 0)
		end();
	for (;;)
		serve_one(&r);
}
