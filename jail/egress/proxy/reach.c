/* SPDX-License-Identifier: MIT */
/*
 * reach.c - rules, names and addresses: see proxy.h
 *
 * A name is looked up once, and what was judged is what is connected to: a name that
 * changes its address in between changes nothing. A literal address is only reached where
 * a rule names it, and then whatever it is.
 */
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>

#include "init/io.h"
#include "jail/egress/proxy/proxy.h"

#define CONNECT_MS 10000

/* networks that are not the internet's: IANA's special-purpose address registries */
static const struct {
	uint8_t at[4];
	unsigned int bits;
} private4[] = {
	{ { 0 }, 8 },
	{ { 10 }, 8 },
	{ { 100, 64 }, 10 },
	{ { 127 }, 8 },
	{ { 169, 254 }, 16 },
	{ { 172, 16 }, 12 },
	{ { 192, 0, 0 }, 24 },
	{ { 192, 0, 2 }, 24 },
	{ { 192, 31, 196 }, 24 },
	{ { 192, 52, 193 }, 24 },
	{ { 192, 88, 99 }, 24 },
	{ { 192, 168 }, 16 },
	{ { 192, 175, 48 }, 24 },
	{ { 198, 18 }, 15 },
	{ { 198, 51, 100 }, 24 },
	{ { 203, 0, 113 }, 24 },
	{ { 224 }, 4 },
	{ { 240 }, 4 },
};

/* Of IPv6, 2000::/3 alone is handed out; of that not these. Where another address is
 * embedded, that one counts. */
static const struct {
	uint8_t at[12];
	unsigned int bits;
	int embeds; /* offset of an IPv4 address, 0 for none */
} special6[] = {
	{ { 0x00, 0x64, 0xff, 0x9b }, 96, 12 },      /* NAT64 */
	{ { 0x20, 0x01, 0x00 }, 23, 0 },             /* Teredo, ORCHID and others */
	{ { 0x20, 0x01, 0x0d, 0xb8 }, 32, 0 },       /* documentation */
	{ { 0x20, 0x02 }, 16, 2 },                   /* 6to4 */
	{ { 0x26, 0x20, 0x00, 0x4f, 0x80 }, 48, 0 }, /* AS112 */
	{ { 0x3f, 0xff }, 20, 0 },                   /* documentation */
};

static bool is_within(const uint8_t *address, const uint8_t *network, unsigned int bits)
{
	unsigned int rest = bits % 8;

	return memcmp(address, network, bits / 8) == 0 &&
	       (rest == 0 ||
		((address[bits / 8] ^ network[bits / 8]) >> (8 - rest)) == 0);
}

static bool is_public4(const uint8_t *at)
{
	for (size_t i = 0; i < sizeof(private4) / sizeof(private4[0]); i++)
		if (is_within(at, private4[i].at, private4[i].bits))
			return false;
	return true;
}

bool address_is_public(const struct sockaddr *at)
{
	const uint8_t *six;

	if (at->sa_family == AF_INET)
		return is_public4(
			(const uint8_t *)&((const struct sockaddr_in *)(const void *)at)
				->sin_addr);
	if (at->sa_family != AF_INET6)
		return false;
	six = ((const struct sockaddr_in6 *)(const void *)at)->sin6_addr.s6_addr;
	for (size_t i = 0; i < sizeof(special6) / sizeof(special6[0]); i++)
		if (is_within(six, special6[i].at, special6[i].bits))
			return special6[i].embeds && is_public4(six + special6[i].embeds);
	return six[0] >> 5 == 1;
}

bool is_listed(const struct proxy *p, const struct place *to)
{
	for (size_t i = 0; i < p->rules; i++)
		if (place_allows(&p->rule[i], to))
			return true;
	return false;
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

int reach(struct connection *c, const struct place *to)
{
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
		if (to->literal || address_is_public(at->ai_addr)) {
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
