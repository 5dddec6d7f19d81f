/* SPDX-License-Identifier: MIT */
/*
 * proxy.h - stepjail-egress: a jail's one way out, in a process that may do nothing else
 *
 * One process accepts connections and reads none of their bytes (main.c). It forks one
 * for each, which serves one request and ends (serve.c):
 *
 *	head.c		read a request as strictly as can be; what is odd is refused
 *	reach.c		look the name up once, judge the addresses, connect to one of
 *			them, by libcurl, and for http://HOST/ speak TLS
 *	tls.c		bytes over TLS; the name in a ClientHello
 *	relay.c		CONNECT: bytes pass, once TLS has named that host. Any other
 *			request: its head is written anew, and its response passes as it
 *			is
 *
 * One request a connection, with one length: two parsers cannot disagree on where the
 * next request begins.
 */
#pragma once

#include <poll.h>
#include <stdatomic.h>
#include <stddef.h>

#include "jail/egress/log.h"

#define SECRETS_MAX 8
/* of what the proxy answers itself: RFC 9209 */
#define PROXY_STATUS "Proxy-Status: stepjail-egress\r\n"
/* A field of requests, and what then follows a response that came whole: between a guest
 * and its host no connection is reset, it just ends (jail/vm/guest/egress.c) */
#define END_FIELD "Stepjail-End"
#define END_MARK "\r\nstepjail-egress: the response is whole\r\n"

/* of --secret-header HOST:NAME=FILE */
struct secret {
	struct place to;
	const char *name; /* in argv */
	char value[4096];
};

/* what all processes share */
struct shared {
	_Atomic uint64_t bytes;                /* in both directions */
	struct egress_row row[EGRESS_AT_ONCE]; /* of each connection */
};

struct proxy {
	int control, listener; /* end of file on control: the run has ended */
	uint64_t limit_bytes;
	struct place rule[EGRESS_RULES];
	struct secret secret[SECRETS_MAX];
	size_t rules, secrets;
	struct shared *shared;
	struct egress_log *log; /* not mapped in the process of a connection */
};

/* a connection, in its own process */
struct connection {
	const struct proxy *proxy;
	struct egress_row *row;
	int parent;         /* who writes the log: see tell() */
	int client, server; /* server: -1 before it is connected */
	void *tls;          /* libcurl's handle for the server, or NULL */
	void *hello;        /* OpenSSL's of tls_name() */
	uint64_t until_ms;  /* CLOCK_MONOTONIC, of all of it */
	/* what kept it from being served: an HTTP status and its words */
	int status;
	char words[400];
};

/** serve() - Serve a connection; what became of it is in its row */
void serve(struct connection *c);

/**
 * tell() - Have the row written into the log: before anything is sent to a host, and
 * how it ended, before the client can know it
 *
 * Who takes this process over can keep nothing out of the log that came before.
 */
void tell(struct connection *c);

/** refuse() - Note why it is not served, for the row and for the jail; Return: -1 */
int refuse(struct connection *c, enum egress_end end, int status, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/**
 * spend() - Count bytes that are to be passed on, before they are
 *
 * Return: false: --egress-limit has not as many, and none may be; this is noted
 */
bool spend(struct connection *c, size_t bytes);

/**
 * wait_for() - Wait for poll(2)'s events of client or server; 0: that one is passed over
 *
 * Return: false: time is up, or the run or the connection has ended, which is noted
 */
bool wait_for(struct connection *c, short client, short server, int wait_ms);

struct head;

/**
 * reach() - Connect to the place of a request, if its addresses allow it
 * @tls:	Speak TLS with it, and its name must be the place's: c->tls
 *
 * Return: 0, c->server is connected; or -1
 */
int reach(struct connection *c, struct head *h, bool tls);

/** find_rule() - The first rule that names it, or NULL: it is not allowed */
const struct place *find_rule(const struct proxy *p, const struct place *to);

/**
 * address_is_public() - Is this address of the internet, for anybody to be reached?
 * @family:	AF_INET or AF_INET6
 */
bool address_is_public(int family, const uint8_t *at);

/** tls_move() - As recv(2), or send(2), that does not wait, over TLS */
ssize_t tls_move(struct connection *c, bool in, void *bytes, size_t length);

/**
 * tls_name() - Find the server's name in the beginning of a TLS connection, RFC 6066 3
 * @bytes:	Of it, those that come behind what was given before
 * @name:	Gets it in lower case, empty where there is none
 *
 * Return: 1; 0: more bytes are needed; -1: this is no ClientHello
 */
int tls_name(struct connection *c, const unsigned char *bytes, size_t length,
	     char name[PLACE_HOST_MAX]);

/** relay_tunnel() - CONNECT */
void relay_tunnel(struct connection *c, const struct head *h);

/** relay_request() - Any other request; -1: refused, and nothing was sent */
int relay_request(struct connection *c, struct head *h);

/** confine() - Give up everything but the network; 0 (@abi: Landlock's), or -errno */
int confine(uint32_t *abi, struct err *e);
