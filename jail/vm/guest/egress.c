/* SPDX-License-Identifier: MIT */
/*
 * egress.c - stepjail-egress of guests of --wall vm, before that of the host
 *
 * It is made of jail/egress/proxy/ with this file in place of confine.c, reach.c and
 * tls.c. A jail in a guest has the same port as any jail, and the same code reads what it
 * asks for, compares it with the rules and keeps the log. Only that no host is connected
 * to: the request goes on to the proxy of the jail that QEMU is in, by QEMU's user
 * network. That one decides, whatever is said here: it reads the request again, looks the
 * name up, judges the address, speaks TLS, and has the secrets. See proxy.h.
 */
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "jail/egress/proxy/head.h"
#include "jail/egress/start.h"

/* 10.0.2.2: what is sent there QEMU connects to its own loopback */
#define HOST_ADDRESS 0x0a000202

/* words of the host's proxy, and what they are in the log; what else there is: not
 * reached */
static const struct {
	const char *words;
	enum egress_end end;
} reasons[] = {
	{ "no --allow-host names it", EGRESS_UNLISTED },
	{ "no address that is public", EGRESS_PRIVATE },
	{ "cannot be looked up", EGRESS_NAMELESS },
	{ "--egress-limit", EGRESS_LIMIT },
	{ ": TLS: ", EGRESS_UNTRUSTED },
};

static struct place asked;

/* nothing in a guest is a wall for the host */
int confine(uint32_t *abi, struct err *e)
{
	(void)abi, (void)e;
	return 0;
}

static enum egress_end end_of(const char *words, size_t length)
{
	for (size_t i = 0; i < COUNT(reasons); i++)
		if (memmem(words, length, reasons[i].words, strlen(reasons[i].words)))
			return reasons[i].end;
	return EGRESS_UNREACHED;
}

/* Has the host's proxy answered it itself? The log has it as one that is allowed, and it
 * stays so. */
static bool is_refusal(struct connection *c, const char *bytes, size_t length)
{
	const char *line = memchr(bytes, '\n', length);

	if (!line || length - (size_t)(line - bytes) < sizeof(PROXY_STATUS) ||
	    memcmp(line + 1, PROXY_STATUS, sizeof(PROXY_STATUS) - 1) != 0)
		return false;
	c->status = 502; /* an answer that is not broken off, see serve() */
	c->row->end = end_of(bytes, length);
	if (!egress_words[c->row->end].allowed)
		c->row->end = EGRESS_UNREACHED;
	tell(c);
	return true;
}

/*
 * The end of a response: QEMU's network makes an end of every reset, so one is whole if
 * END_MARK is the last that came. That many bytes are held back until more come.
 */
static ssize_t read_marked(struct connection *c, char *bytes, size_t length)
{
	static char held[sizeof(END_MARK) - 1];
	static size_t has;
	static bool refused;
	size_t kept = has, all;
	ssize_t n;

	memcpy(bytes, held, has);
	n = recv(c->server, bytes + has, length - has, MSG_DONTWAIT);
	if (n < 0)
		return -1;
	if (n == 0) {
		has = 0;
		errno = EIO;
		if (kept == sizeof(held) && memcmp(held, END_MARK, kept) == 0) {
			c->row->end = EGRESS_OPEN; /* relay() says that it is done */
			return 0;
		}
		return refused ? (ssize_t)kept : -1;
	}
	all = has + (size_t)n;
	refused = refused || (c->row->received == 0 && is_refusal(c, bytes, all));
	has = all < sizeof(held) ? all : sizeof(held);
	memcpy(held, bytes + all - has, has);
	errno = EAGAIN;
	return all > has ? (ssize_t)(all - has) : -1;
}

/* a request in plain HTTP, to the host's proxy */
ssize_t tls_move(struct connection *c, bool in, void *bytes, size_t length)
{
	return in ? read_marked(c, bytes, length)
		  : send(c->server, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* its name is the host's to check */
int tls_name(struct connection *c, const unsigned char *bytes, size_t length,
	     char name[PLACE_HOST_MAX])
{
	(void)c, (void)bytes, (void)length;
	memcpy(name, asked.host, sizeof(asked.host));
	return 1;
}

/* HOST:PORT, as a request names it */
static const char *named(const struct place *to)
{
	static char text[PLACE_HOST_MAX + 16];

	(void)snprintf(text, sizeof(text), strchr(to->host, ':') ? "[%s]:%u" : "%s:%u",
		       to->host, to->port);
	return text;
}

/* The first line of the answer to CONNECT. Nothing follows an answer of 200 before the
 * jail has said something. */
static int ask_for_tunnel(struct connection *c, const struct place *to)
{
	char text[2048], words[400] = "";
	size_t have = 0;
	int status = 0;

	(void)dprintf(c->server, "CONNECT %s HTTP/1.1\r\n\r\n", named(to));
	do {
		ssize_t n = 0;

		if (wait_for(c, 0, POLLIN, EGRESS_IDLE_MS))
			n = recv(c->server, text + have, sizeof(text) - 1 - have, 0);
		if (n <= 0)
			return refuse(c, EGRESS_UNREACHED, 502,
				      "the host's proxy does not answer");
		have += (size_t)n;
		text[have] = '\0';
	} while (!strstr(text, "\r\n\r\n"));
	if (sscanf(text, "HTTP/1.%*c %d %399[^\r]", &status, words) >= 1 && status == 200)
		return 0;
	return refuse(c, end_of(words, strlen(words)), status ? status : 502, "%s",
		      words);
}

/* the whole URL, as a proxy wants it, and that the end be marked */
static void ask_for_response(struct connection *c, struct head *h)
{
	static char url[HEAD_MAX + PLACE_HOST_MAX + 32];

	(void)snprintf(url, sizeof(url), "http://%s%s", named(&h->to), h->target);
	h->target = url;
	h->field[h->fields++] = (struct field){ END_FIELD, "marked", false };
	c->tls = c; /* for tls_move() */
}

/* the host's proxy speaks TLS, and this one passes it plain HTTP */
int reach(struct connection *c, struct head *h, bool tls)
{
	const struct sockaddr_in at = { .sin_family = AF_INET,
					.sin_port = htons(PROXY_PORT),
					.sin_addr.s_addr = htonl(HOST_ADDRESS) };

	(void)tls;
	asked = h->to;
	c->server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->server < 0 ||
	    connect(c->server, (const struct sockaddr *)&at, sizeof(at)) < 0)
		return refuse(c, EGRESS_UNREACHED, 502,
			      "the host's proxy cannot be reached");
	if (h->target && h->fields == HEAD_FIELDS)
		return refuse(c, EGRESS_INVALID, 431, "more than %d fields",
			      HEAD_FIELDS - 1);
	if (h->target)
		ask_for_response(c, h);
	else if (ask_for_tunnel(c, &h->to) < 0)
		return -1;
	tell(c);
	return 0;
}
