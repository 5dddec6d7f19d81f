/* SPDX-License-Identifier: MIT */
/*
 * serve.c - one connection, in a process of its own: see proxy.h
 */
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>

#include "init/io.h"
#include "jail/base/clock.h"
#include "jail/egress/proxy/head.h"

#define LINGER_MS 2000
#define LAST_MS 500 /* less than main.c waits, then */
#define LINGER_READS 64

int refuse(struct connection *c, enum egress_end end, int status, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(c->words, sizeof(c->words), fmt, args);
	va_end(args);
	c->row->end = end;
	c->status = status;
	return -1;
}

void tell(struct connection *c)
{
	char word = 0;

	if (send(c->parent, &word, 1, MSG_NOSIGNAL) != 1 ||
	    recv(c->parent, &word, 1, 0) != 1)
		_exit(1);
	c->row->failed = c->row->end != EGRESS_OPEN; /* which counts once */
}

bool spend(struct connection *c, size_t bytes)
{
	if (atomic_fetch_add(&c->proxy->shared->bytes, bytes) + bytes <=
	    c->proxy->limit_bytes)
		return true;
	c->row->end = EGRESS_LIMIT;
	return false;
}

bool wait_for(struct connection *c, short client, short server, int wait_ms)
{
	struct pollfd fds[] = {
		{ c->client, client, 0 },
		/* of one that is passed over, poll(2) tells errors, too */
		{ server ? c->server : -1, server, 0 },
		{ c->proxy->control, POLLIN, 0 }
	};
	uint64_t now = clock_now_ms();
	uint64_t left = c->until_ms > now ? c->until_ms - now : 0;
	int r = poll(fds, 3, left < (uint64_t)wait_ms ? (int)left : wait_ms);

	/* the run has ended: that the host has as well may be on its way */
	if (fds[2].revents)
		r = poll(fds, 2, LAST_MS);
	/* a client that is gone waits for nothing */
	if (r > 0 && !(fds[0].revents & (POLLERR | POLLHUP)))
		return true;
	c->row->end = r || fds[2].revents ? EGRESS_CUT : EGRESS_SILENT;
	return false;
}

static void answer(struct connection *c)
{
	char text[1024];
	int n = snprintf(text, sizeof(text),
			 "HTTP/1.1 %d %s\r\n" PROXY_STATUS "Content-Type: text/plain\r\n"
			 "Content-Length: %zu\r\nConnection: close\r\n\r\n%s\n",
			 c->status, c->words, strlen(c->words) + 1, c->words);

	tell(c);
	/* a new connection takes that much at once */
	(void)send(c->client, text, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* What the client sends still is read, or the kernel would reset the connection, and the
 * answer with it. */
static void linger(const struct connection *c)
{
	struct pollfd client = { c->client, POLLIN, 0 };
	static char bytes[65536];

	(void)shutdown(c->client, SHUT_WR);
	for (int i = 0; i < LINGER_READS; i++)
		if (poll(&client, 1, LINGER_MS) <= 0 ||
		    recv(c->client, bytes, sizeof(bytes), MSG_DONTWAIT) <= 0)
			return;
}

/* Return: 1, or -1: nothing, or nothing whole, was asked */
static int read_head(struct connection *c, struct head *h)
{
	int r;

	c->until_ms = clock_now_ms() + EGRESS_HEAD_MS;
	while ((r = head_parse(c, h)) == 0) {
		ssize_t n = 0;

		if (wait_for(c, POLLIN, 0, EGRESS_HEAD_MS))
			n = recv(c->client, h->bytes + h->have, HEAD_MAX - h->have,
				 MSG_DONTWAIT);
		if (n <= 0)
			return refuse(c, EGRESS_UNASKED, 408, "no request within 10 s");
		h->have += (size_t)n;
	}
	c->until_ms = clock_now_ms() + EGRESS_TOTAL_MS;
	return r;
}

const struct place *find_rule(const struct proxy *p, const struct place *to)
{
	for (size_t i = 0; i < p->rules; i++)
		if (place_allows(&p->rule[i], to))
			return &p->rule[i];
	return NULL;
}

/* http://HOST/ is for port 443 where the rules name that one, and not 80 */
static bool upgrade(const struct proxy *p, struct head *h)
{
	struct place https = h->to;

	https.port = 443;
	if (!h->target || !find_rule(p, &https) ||
	    (h->to.port != 443 && (h->to.port != 80 || find_rule(p, &h->to))))
		return false;
	h->to = https;
	return true;
}

static int begin(struct connection *c, struct head *h)
{
	bool tls;

	if (read_head(c, h) < 0)
		return -1;
	tls = upgrade(c->proxy, h);
	c->row->to = h->to;
	if (!find_rule(c->proxy, &h->to))
		return refuse(c, EGRESS_UNLISTED, 403,
			      "%s:%u is not allowed: no --allow-host names it",
			      h->to.host, h->to.port);
	if (!spend(c, 0))
		return refuse(c, EGRESS_LIMIT, 403, "%s", egress_words[EGRESS_LIMIT].why);
	return reach(c, h, tls);
}

void serve(struct connection *c)
{
	static struct head h;

	if (begin(c, &h) < 0 || (h.target && relay_request(c, &h) < 0))
		answer(c);
	else if (!h.target)
		relay_tunnel(c, &h);
	if (c->status || c->row->end == EGRESS_DONE) {
		linger(c);
		return;
	}
	tell(c);
	/* what is broken off is reset, so that nobody takes a part for the whole */
	(void)setsockopt(c->client, SOL_SOCKET, SO_LINGER,
			 &(struct linger){ .l_onoff = 1 }, sizeof(struct linger));
}
