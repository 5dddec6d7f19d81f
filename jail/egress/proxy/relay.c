/* SPDX-License-Identifier: MIT */
/*
 * relay.c - bytes between a jail and a host: see proxy.h
 */
#include <inttypes.h>
#include <string.h>
#include <sys/socket.h>

#include "jail/egress/proxy/head.h"

#define FLOW_BYTES 131072 /* a head with secrets, and what came behind it */

/* one direction */
struct flow {
	bool up;         /* from the jail */
	bool ends;       /* its end is passed on */
	uint64_t left;   /* bytes that may still be read */
	size_t at, have; /* what waits to be sent */
	size_t part;     /* of the head of a record of TLS, bytes that have come */
	uint16_t size;   /* of the record, as far as they say it */
	uint16_t record; /* bytes of it that are to come */
	unsigned char bytes[FLOW_BYTES];
};

static struct flow up = { .up = true }, down;

/* As recv(2) and send(2), without waiting */
static ssize_t pass(struct connection *c, bool client, bool in, void *bytes,
		    size_t length)
{
	int fd = client ? c->client : c->server;

	if (!client && c->tls)
		return tls_move(c, in, bytes, length);
	return in ? recv(fd, bytes, length, MSG_DONTWAIT)
		  : send(fd, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Are bytes that have come records of TLS, RFC 8446 5.1? Type, version and length are
 * seen, before they are sent on; what is in a record is not. */
static bool is_tls(struct flow *f, const unsigned char *at, size_t length)
{
	static const unsigned char least[] = { 20, 3, 0, 0, 0 },
				   most[] = { 23, 3, 4, 72, 255 };

	for (; length--; at++) {
		if (f->record) {
			f->record--;
			continue;
		}
		if (*at < least[f->part] || *at > most[f->part])
			return false;
		f->size = (uint16_t)(f->size << 8 | *at);
		f->part = (f->part + 1) % sizeof(least);
		f->record = f->part ? 0 : f->size;
	}
	return true;
}

/* What has come counts before it is sent on, and in a tunnel it is TLS; 0, or -1 */
static int admit(struct connection *c, struct flow *f, size_t length)
{
	if (!spend(c, length))
		return -1;
	return !f->ends || is_tls(f, f->bytes + f->have - length, length)
		       ? 0
		       : refuse(c, EGRESS_OTHER_NAME, 0, "no TLS");
}

/* Return: whether anything has come; -1: the connection is over */
static int take(struct connection *c, struct flow *f)
{
	size_t room = FLOW_BYTES - f->have;
	ssize_t n =
		pass(c, f->up, true, f->bytes + f->have, f->left < room ? f->left : room);

	if (n < 0)
		return errno == EAGAIN ? 0 : refuse(c, EGRESS_CUT, 0, "cut");
	f->have += (size_t)n;
	f->left = n ? f->left - (uint64_t)n : 0;
	if (n == 0 && f->ends)
		(void)shutdown(f->up ? c->server : c->client, SHUT_WR);
	return n == 0 ? 0 : admit(c, f, (size_t)n) < 0 ? -1 : 1;
}

/* Return: whether anything moved; -1: the connection is over */
static int move(struct connection *c, struct flow *f)
{
	ssize_t n;

	if (f->have == 0 && f->left && take(c, f) < 0)
		return -1;
	if (f->have == 0)
		return 0;
	n = pass(c, !f->up, false, f->bytes + f->at, f->have);
	if (n < 0)
		return errno == EAGAIN ? 0 : refuse(c, EGRESS_CUT, 0, "cut");
	f->have -= (size_t)n;
	f->at = f->have ? f->at + (size_t)n : 0;
	*(f->up ? &c->row->sent : &c->row->received) += (uint64_t)n;
	return 1;
}

static bool is_over(const struct flow *f)
{
	return !f->left && !f->have;
}

static short events(const struct flow *in, const struct flow *out)
{
	return (short)((in->left && !in->have ? POLLIN : 0) | (out->have ? POLLOUT : 0));
}

/* Until both directions are over; or that from the host, where the other's end is not
 * passed on. */
static void relay(struct connection *c)
{
	while (!is_over(&down) || (up.ends && !is_over(&up))) {
		int a = move(c, &up), b = a < 0 ? a : move(c, &down);

		if (b < 0)
			return;
		if (a == 0 && b == 0 && (!is_over(&down) || !is_over(&up)) &&
		    !wait_for(c, events(&up, &down), events(&down, &up), EGRESS_IDLE_MS))
			return;
	}
	if (c->row->end == EGRESS_OPEN)
		c->row->end = EGRESS_DONE;
}

int relay_request(struct connection *c, struct head *h)
{
	const struct secret *s = c->proxy->secret;
	const char *bracket = strchr(h->to.host, ':') ? "[" : "";
	size_t rest = h->have - h->length;
	/* FLOW_BYTES are more than a head and all secrets have */
	FILE *out = fmemopen(up.bytes, FLOW_BYTES, "w");

	if (!out)
		return refuse(c, EGRESS_CUT, 503, "no memory for the request");
	down.left = UINT64_MAX;
	(void)fprintf(out, "%s %s %s\r\nHost: %s%s%s", h->method, h->target, h->version,
		      bracket, h->to.host, *bracket ? "]" : "");
	if (h->to.port != (c->tls ? 443 : 80))
		(void)fprintf(out, ":%u", h->to.port);
	for (size_t i = 0; c->tls && i < c->proxy->secrets; i++, s++)
		if (strcmp(s->to.host, h->to.host) == 0) {
			head_drop(h, s->name);
			(void)fprintf(out, "\r\n%s: %s", s->name, s->value);
		}
	for (size_t i = 0; i < h->fields; i++)
		if (!h->field[i].dropped)
			(void)fprintf(out, "\r\n%s: %s", h->field[i].name,
				      h->field[i].value);
	if (h->has_length)
		(void)fprintf(out, "\r\nContent-Length: %" PRIu64, h->body_bytes);
	(void)fputs("\r\nConnection: close\r\n\r\n", out);
	rest = rest < h->body_bytes ? rest : (size_t)h->body_bytes;
	(void)fwrite(h->bytes + h->length, 1, rest, out);
	up.have = (size_t)ftell(out);
	(void)fclose(out);
	up.left = h->body_bytes - rest;
	if (!spend(c, up.have))
		return refuse(c, EGRESS_LIMIT, 403, "%s", egress_words[EGRESS_LIMIT].why);
	relay(c);
	if (h->marked && c->row->end == EGRESS_DONE) {
		down.have = (size_t)snprintf((char *)down.bytes, FLOW_BYTES, END_MARK);
		relay(c);
	}
	return 0;
}

/* Read the ClientHello, as far as it takes to know the name. */
static int check_hello(struct connection *c, const struct head *h)
{
	char name[PLACE_HOST_MAX];
	size_t told = 0;
	int r;

	if (admit(c, &up, up.have) < 0)
		return -1;
	while ((r = tls_name(c, up.bytes + told, up.have - told, name)) == 0) {
		told = up.have;
		if (!wait_for(c, POLLIN, 0, EGRESS_HEAD_MS) || take(c, &up) <= 0)
			return c->row->end == EGRESS_OPEN
				       ? refuse(c, EGRESS_CUT, 0, "cut")
				       : -1;
	}
	/* an address has no name, and its client may say none */
	if (r > 0 && (strcmp(name, h->to.host) == 0 || (h->to.literal && !name[0])))
		return 0;
	return refuse(c, EGRESS_OTHER_NAME, 0, "name");
}

void relay_tunnel(struct connection *c, const struct head *h)
{
	down.have = (size_t)snprintf((char *)down.bytes, FLOW_BYTES,
				     "%s 200 Connection established\r\n\r\n", h->version);
	down.left = up.left = UINT64_MAX;
	down.ends = up.ends = true;
	if (move(c, &down) < 0)
		return;
	up.have = h->have - h->length;
	memcpy(up.bytes, h->bytes + h->length, up.have);
	if (check_hello(c, h) < 0)
		return;
	relay(c);
	/* what the host still says when a client has what it wants resets the client */
	if (c->row->end == EGRESS_CUT &&
	    poll(&(struct pollfd){ .fd = c->client }, 1, 0) > 0)
		c->row->end = EGRESS_DONE;
}
