/* SPDX-License-Identifier: MIT */
/*
 * reach.c - names and addresses: see proxy.h
 *
 * A name is looked up once, and what was judged is what is connected to: a name that
 * changes its address in between changes nothing. A literal address is only reached where
 * a rule names it, and then whatever it is.
 */
#include <arpa/inet.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "init/io.h"
#include "jail/egress/proxy/head.h"

#define CONNECT_MS 10000

/* networks that are not the internet's: IANA's special-purpose address registries */
static const char *const private4[] = {
	"0.0.0.0/8",       "10.0.0.0/8",      "100.64.0.0/10",   "127.0.0.0/8",
	"169.254.0.0/16",  "172.16.0.0/12",   "192.0.0.0/24",    "192.0.2.0/24",
	"192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24",  "192.168.0.0/16",
	"192.175.48.0/24", "198.18.0.0/15",   "198.51.100.0/24", "203.0.113.0/24",
	"224.0.0.0/4",     "240.0.0.0/4"
};

/* Of IPv6, 2000::/3 alone is handed out; of that not these: Teredo and others, 6to4,
 * AS112, and what documentation has. Of NAT64, the address within counts. */
static const char *const special6[] = { "2001::/23", "2001:db8::/32", "2002::/16",
					"2620:4f:8000::/48", "3fff::/20" };
static const char nat64[] = "64:ff9b::/96";

static bool is_within(int family, const uint8_t *address, const char *network)
{
	uint8_t at[16];
	char text[32];
	unsigned int bits, rest;

	if (sscanf(network, "%31[^/]/%u", text, &bits) != 2 ||
	    inet_pton(family, text, at) != 1)
		abort();
	rest = bits % 8;
	return memcmp(address, at, bits / 8) == 0 &&
	       (rest == 0 || (address[bits / 8] ^ at[bits / 8]) >> (8 - rest) == 0);
}

static bool is_public4(const uint8_t *at)
{
	for (size_t i = 0; i < COUNT(private4); i++)
		if (is_within(AF_INET, at, private4[i]))
			return false;
	return true;
}

bool address_is_public(int family, const uint8_t *at)
{
	if (family == AF_INET || is_within(AF_INET6, at, nat64))
		return is_public4(family == AF_INET ? at : at + 12);
	for (size_t i = 0; i < COUNT(special6); i++)
		if (is_within(AF_INET6, at, special6[i]))
			return false;
	return family == AF_INET6 && at[0] >> 5 == 1;
}

/* as getaddrinfo(3) has it */
static bool is_public(const struct sockaddr *to)
{
	size_t at = to->sa_family == AF_INET ? offsetof(struct sockaddr_in, sin_addr)
					     : offsetof(struct sockaddr_in6, sin6_addr);

	return address_is_public(to->sa_family, (const uint8_t *)to + at);
}

/* Return: 1, 0 (it did not work), or -1 (time is up, or the run is over) */
static int try_one(struct connection *c, const struct addrinfo *at)
{
	int errnum = 0, r;
	socklen_t size = sizeof(errnum);

	io_close_fd(&c->server);
	c->server = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (c->server < 0)
		return 0;
	if (connect(c->server, at->ai_addr, at->ai_addrlen) == 0)
		return 1;
	if (errno != EINPROGRESS)
		return 0;
	r = wait_for(c, 0, POLLOUT, CONNECT_MS);
	if (r < 0)
		return -1;
	return r > 0 &&
	       getsockopt(c->server, SOL_SOCKET, SO_ERROR, &errnum, &size) == 0 &&
	       errnum == 0;
}

int reach(struct connection *c, struct head *h)
{
	const struct place *to = &h->to;
	const struct addrinfo wanted = { .ai_socktype = SOCK_STREAM,
					 .ai_flags = to->literal ? AI_NUMERICHOST
								 : AI_ADDRCONFIG };
	struct addrinfo *list = NULL;
	size_t judged = 0;
	char port[8];
	int r;

	(void)snprintf(port, sizeof(port), "%u", to->port);
	r = getaddrinfo(to->host, port, &wanted, &list);
	if (r != 0)
		return refuse(c, EGRESS_NAMELESS, 502, "%s cannot be looked up: %s",
			      to->host, gai_strerror(r));
	for (const struct addrinfo *at = list; at && r == 0; at = at->ai_next)
		if (to->literal || is_public(at->ai_addr)) {
			judged++;
			tell(c);
			r = try_one(c, at);
		}
	freeaddrinfo(list);
	if (r > 0)
		return 0;
	return judged ? refuse(c, EGRESS_UNREACHED, 502, "%s:%u cannot be reached",
			       to->host, to->port)
		      : refuse(c, EGRESS_PRIVATE, 403,
			       "%s has no address that is public: --allow-host with the address itself allows one",
			       to->host);
}
