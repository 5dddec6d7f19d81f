/* SPDX-License-Identifier: MIT */
/*
 * client.c - the main process's side of the model client: see client.h
 *
 * Theory of operation
 *   Every wait is for the socket and for a signal, and has an end: a client that does not
 *   answer cannot hold the main process up. Limits of a request are kept here, by one
 *   clock: when one is over, the client is told that it is enough, and has a while to
 *   come to an end. One that does not, that dies, or that says what it may not is not
 *   asked again.
 */
#include <poll.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "agent/base/memory.h"
#include "agent/base/secret.h"
#include "agent/base/units.h"
#include "agent/key/client_wire.h"
#include "init/io.h"

#define LAST_BYTES_MS 500 /* for a stream to end, of which no more is needed */
#define ANSWER_MS 30000   /* for the client to say that a request has ended */

/* one request while it runs */
struct post {
	struct client *client;
	const struct client_request *request;
	struct client_answer *answer;
	uint64_t heard_ms; /* when the last byte came */
	uint64_t end_ms;   /* when the time is up: for all of it, or for END */
	bool enough;       /* the client was told so: what still comes is not read */
	int result;        /* of the request, with its words in @e */
	struct err *e;
};

/* nothing of it is heard any longer */
static int give_up(struct client *c, const char *why, struct err *e)
{
	io_close_fd(&c->socket);
	return err_say(e, EPIPE,
		       "the model client, which has the key and the network, %s", why);
}

static int gone(struct client *c, struct err *e)
{
	return give_up(c, "is gone", e);
}

/* read or write all of it; 0, -EINTR, -EPIPE; or -ETIMEDOUT, without words, where no byte
 * went by until then */
static int move(struct client *c, bool out, void *bytes, size_t length, uint64_t until_ms,
		struct err *e)
{
	char *at = bytes;
	bool begun = false;

	while (length) {
		int r = stop_wait(c->stop, c->socket, out ? POLLOUT : POLLIN, until_ms);
		ssize_t n;

		if (r == -EINTR)
			return err_say(e, EINTR, "stopped by a signal");
		if (r == -ETIMEDOUT && !begun)
			return r;
		if (r < 0) /* behind a part of a message it is out of step */
			return gone(c, e);
		n = out ? send(c->socket, at, length, MSG_NOSIGNAL | MSG_DONTWAIT)
			: recv(c->socket, at, length, MSG_DONTWAIT);
		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
			return gone(c, e);
		if (n < 0)
			continue;
		begun = true;
		at += n;
		length -= (size_t)n;
	}
	return 0;
}

/* the same of what should come or go at once */
static int move_now(struct client *c, bool out, void *bytes, size_t length, struct err *e)
{
	int r = move(c, out, bytes, length, units_now_ms() + ANSWER_MS, e);

	return r == -ETIMEDOUT ? gone(c, e) : r;
}

static int say(struct client *c, struct client_header h, const char *bytes, struct err *e)
{
	int r = move_now(c, true, &h, sizeof(h), e);

	return r < 0 ? r : move_now(c, true, (void *)(uintptr_t)bytes, h.length, e);
}

/* what is left of the answer is not needed, or not waited for longer than this */
static int say_enough(struct post *p, int result, uint64_t ms)
{
	p->enough = true;
	p->result = result;
	p->end_ms = units_now_ms() + ms + ANSWER_MS;
	return say(p->client, (struct client_header){ .kind = CLIENT_ENOUGH, .ms = ms },
		   "", p->e);
}

static int take(struct post *p, const char *bytes, size_t length, bool streamed)
{
	const struct client_request *asked = p->request;
	struct text *body = &p->answer->body;
	int r;

	p->heard_ms = units_now_ms();
	if (p->enough)
		return 0; /* on its way when that was said */
	p->answer->streamed = streamed;
	if (streamed) {
		r = asked->take(asked->arg, bytes, length, p->e);
		return r > 0   ? say_enough(p, 0, LAST_BYTES_MS)
		       : r < 0 ? say_enough(p, -ECANCELED, 0)
			       : 0;
	}
	text_add(body, bytes, length);
	if (!body->failed)
		return 0;
	r = err_say(p->e, EFBIG, "the model's answer is longer than %zu bytes",
		    asked->answer_max);
	return say_enough(p, r, 0);
}

static bool makes_sense(const struct post *p, const struct client_header *h)
{
	switch (h->kind) {
	case CLIENT_STREAM:
	case CLIENT_BODY:
		return h->length && h->length <= CLIENT_PIECE_MAX &&
		       (h->kind == CLIENT_BODY || !p->answer->body.length) &&
		       (h->kind == CLIENT_STREAM || !p->answer->streamed);
	case CLIENT_END:
		return h->length < ERR_TEXT_MAX && h->status >= 0 && h->status <= 999 &&
		       h->ms <= CLIENT_WAIT_MAX_MS && h->errnum >= 0;
	default:
		return false;
	}
}

/* no header came in time */
static int time_is_up(struct post *p, bool silent)
{
	int r;

	if (p->enough)
		return give_up(p->client, "does not answer", p->e);
	if (silent)
		r = err_say(p->e, EAGAIN, "no byte came for %s (--model-time)",
			    units_say_time(p->request->silence_ms).text);
	else
		r = err_say(p->e, EAGAIN, "the time limit was reached");
	return say_enough(p, r, 0);
}

static void judge(struct post *p, const struct client_header *end, const char *words)
{
	bool known = end->errnum == EAGAIN || end->errnum == EFBIG;

	p->answer->status = end->status;
	p->answer->retry_after_ms = end->ms;
	if (!p->enough && end->errnum)
		p->result = err_say(p->e, known ? end->errnum : EIO, "%s", words);
}

/* one header and what is behind it; 1 at the end */
static int hear(struct post *p)
{
	struct client *c = p->client;
	struct client_header h;
	char bytes[CLIENT_PIECE_MAX];
	uint64_t silent_ms = p->heard_ms + p->request->silence_ms;
	bool silent = !p->enough && silent_ms < p->end_ms;
	/* where a header always comes, the time is up at its end all the same */
	int r = units_left_ms(p->end_ms) == 0
			? -ETIMEDOUT
			: move(c, false, &h, sizeof(h), silent ? silent_ms : p->end_ms,
			       p->e);

	if (r == -ETIMEDOUT)
		return time_is_up(p, silent);
	if (r == 0 && !makes_sense(p, &h))
		r = give_up(c, "makes no sense", p->e);
	if (r == 0)
		r = move_now(c, false, bytes, h.length, p->e);
	if (r < 0)
		return r;
	if (h.kind != CLIENT_END)
		return take(p, bytes, h.length, h.kind == CLIENT_STREAM);
	bytes[h.length] = '\0';
	judge(p, &h, bytes);
	return 1;
}

int client_post(struct client *c, const struct client_request *request,
		struct client_answer *answer, struct err *e)
{
	const struct text *body = request->body;
	struct post p = {
		.client = c,
		.request = request,
		.answer = answer,
		.heard_ms = units_now_ms(),
		.e = e,
	};

	*answer = (struct client_answer){ .body.max = request->answer_max };
	if (c->socket < 0)
		return gone(c, e);
	if (__builtin_add_overflow(p.heard_ms, request->total_ms, &p.end_ms))
		p.end_ms = UINT64_MAX;

	int r = say(c,
		    (struct client_header){ .kind = CLIENT_POST,
					    .length = (uint32_t)body->length },
		    text_string(body), e);

	while (r == 0)
		r = hear(&p);
	if (r == -EINTR) /* nobody waits for the rest */
		io_close_fd(&c->socket);
	return r < 0 ? r : p.result;
}

static int start(struct client *c, const struct client_plan *plan, struct err *e)
{
	cleanup_fd int theirs = -1;
	pid_t self = getpid();
	int both[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both) < 0)
		return err_set(e, errno, "socketpair");
	c->socket = both[0];
	theirs = both[1];
	c->pid = fork();
	if (c->pid == 0)
		client_run(plan, c, theirs, self);
	if (c->pid < 0)
		return err_set(e, errno, "fork");
	c->pidfd = pidfd_open(c->pid, 0);
	return c->pidfd < 0 ? err_set(e, errno, "pidfd_open") : 0;
}

int client_open(struct client **out, const struct client_plan *plan, struct stop *stop,
		struct err *e)
{
	struct client *c = memory_zeroed(1, sizeof(*c));

	*c = (struct client){
		.socket = -1,
		.pidfd = -1,
		.stop = stop,
		.policy = { .who = "the model client", .required = plan->required },
	};
	*out = c;

	int r = reach_server(&c->policy, plan->place.url, &c->reach, e);

	if (r == 0)
		r = start(c, plan, e);
	secret_forget_variables();
	if (r == 0)
		r = move(c, false, &c->hello, sizeof(c->hello), UINT64_MAX, e);
	if (r < 0 || !c->hello.e.errnum)
		return r;
	*e = c->hello.e;
	return -e->errnum;
}

void client_close(struct client *c)
{
	if (!c)
		return;
	io_close_fd(&c->socket);
	if (c->pidfd >= 0)
		(void)pidfd_send_signal(c->pidfd, SIGKILL, NULL, 0);
	io_close_fd(&c->pidfd);
	while (c->pid > 0 && waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
		continue;
	free(c);
}
