/* SPDX-License-Identifier: MIT */
/*
 * reach.c - names and addresses: see proxy.h
 *
 * A name is looked up once, and what was judged is what libcurl is given to connect to: a
 * name that changes its address in between changes nothing. A literal address is only
 * reached where a rule names it, and then whatever it is. With TLS, libcurl checks the
 * certificate, and the name in it.
 */
#include <arpa/inet.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>

#include "jail/egress/proxy/head.h"

#define CONNECT_MS 15000L

/* networks that are not the internet's: IANA's special-purpose address registries. Of
 * IPv6, 2000::/3 alone is handed out; of that not these: Teredo and others, 6to4, AS112,
 * and what documentation has. */
static const char *const special[] = {
	"0.0.0.0/8",       "10.0.0.0/8",      "100.64.0.0/10",    "127.0.0.0/8",
	"169.254.0.0/16",  "172.16.0.0/12",   "192.0.0.0/24",     "192.0.2.0/24",
	"192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24",   "192.168.0.0/16",
	"192.175.48.0/24", "198.18.0.0/15",   "198.51.100.0/24",  "203.0.113.0/24",
	"224.0.0.0/4",     "240.0.0.0/4",     "2001::/23",        "2001:db8::/32",
	"2002::/16",       "3fff::/20",       "2620:4f:8000::/48"
};

static bool is_within(int family, const uint8_t *address, const char *network)
{
	uint8_t at[16];
	char text[32];
	unsigned int bits;

	if (family != (strchr(network, ':') ? AF_INET6 : AF_INET))
		return false;
	if (sscanf(network, "%31[^/]/%u", text, &bits) != 2 ||
	    inet_pton(family, text, at) != 1)
		abort();
	/* where whole bytes are compared, nothing is left of the next one */
	return memcmp(address, at, bits / 8) == 0 &&
	       (address[bits / 8] ^ at[bits / 8]) >> (8 - bits % 8) == 0;
}

bool address_is_public(int family, const uint8_t *at)
{
	/* of NAT64, the address within counts */
	if (is_within(family, at, "64:ff9b::/96"))
		return address_is_public(AF_INET, at + 12);
	for (size_t i = 0; i < COUNT(special); i++)
		if (is_within(family, at, special[i]))
			return false;
	return family == AF_INET || (family == AF_INET6 && at[0] >> 5 == 1);
}

/* as getaddrinfo(3) has it */
static bool is_public(const struct sockaddr *to)
{
	size_t at = to->sa_family == AF_INET ? offsetof(struct sockaddr_in, sin_addr)
					     : offsetof(struct sockaddr_in6, sin6_addr);

	return address_is_public(to->sa_family, (const uint8_t *)to + at);
}

/* Look a name up: those of its addresses that may be reached, as CURLOPT_RESOLVE(3) has
 * them */
static int judge(struct connection *c, const struct place *to, struct curl_slist **known)
{
	const struct addrinfo wanted = { .ai_socktype = SOCK_STREAM,
					 .ai_flags = AI_ADDRCONFIG };
	char text[8192], one[INET6_ADDRSTRLEN];
	int n = snprintf(text, sizeof(text), "%s:%u", to->host, to->port), none = n;
	struct addrinfo *list = NULL;
	int r = getaddrinfo(to->host, NULL, &wanted, &list);

	if (r != 0)
		return refuse(c, EGRESS_NAMELESS, 502, "%s cannot be looked up: %s",
			      to->host, gai_strerror(r));
	for (const struct addrinfo *at = list; at; at = at->ai_next)
		if (is_public(at->ai_addr) && n < (int)sizeof(text) - INET6_ADDRSTRLEN &&
		    getnameinfo(at->ai_addr, at->ai_addrlen, one, sizeof(one), NULL, 0,
				NI_NUMERICHOST) == 0)
			n += snprintf(text + n, sizeof(one) + 1, "%c%s",
				      n == none ? ':' : ',', one);
	freeaddrinfo(list);
	*known = curl_slist_append(NULL, text);
	return n > none
		       ? 0
		       : refuse(c, EGRESS_PRIVATE, 403,
				"%s has no address that is public: --allow-host with the address itself allows one",
				to->host);
}

/* It looks no name up: what it was given is all that it knows. */
static CURLcode open_with(CURL *curl, const char *url, struct curl_slist *known)
{
	/* what OpenSSL's own programs obey, libcurl does not */
	const char *file = getenv("SSL_CERT_FILE"), *folder = getenv("SSL_CERT_DIR");

	if (!curl || curl_easy_setopt(curl, CURLOPT_URL, url) ||
	    curl_easy_setopt(curl, CURLOPT_RESOLVE, known) ||
	    curl_easy_setopt(curl, CURLOPT_CONNECT_ONLY, 1L) ||
	    curl_easy_setopt(curl, CURLOPT_SSL_ENABLE_ALPN, 0L) ||
	    curl_easy_setopt(curl, CURLOPT_PROXY, "") ||
	    (file && curl_easy_setopt(curl, CURLOPT_CAINFO, file)) ||
	    (folder && curl_easy_setopt(curl, CURLOPT_CAPATH, folder)) ||
	    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L) ||
	    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS))
		return CURLE_OUT_OF_MEMORY;
	return curl_easy_perform(curl);
}

int reach(struct connection *c, struct head *h, bool tls)
{
	char url[PLACE_HOST_MAX + 32];
	const struct place *to = &h->to;
	struct curl_slist *known = NULL;
	CURL *curl;
	CURLcode r;

	if (!to->literal && judge(c, to, &known) < 0)
		return -1;
	(void)snprintf(url, sizeof(url),
		       strchr(to->host, ':') ? "%s://[%s]:%u" : "%s://%s:%u",
		       tls ? "https" : "http", to->host, to->port);
	tell(c);
	/* without the list libcurl would look the name up itself */
	curl = to->literal || known ? curl_easy_init() : NULL;
	r = open_with(curl, url, known);
	curl_slist_free_all(known);
	if (r && (!tls || r == CURLE_COULDNT_CONNECT))
		return refuse(c, EGRESS_UNREACHED, 502, "%s:%u cannot be reached",
			      to->host, to->port);
	if (r || curl_easy_getinfo(curl, CURLINFO_ACTIVESOCKET, &c->server))
		return refuse(c, EGRESS_UNTRUSTED, 502, "%s: TLS: %s", to->host,
			      curl_easy_strerror(r));
	c->tls = tls ? curl : NULL;
	return 0;
}
