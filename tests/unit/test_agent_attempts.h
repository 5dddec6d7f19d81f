/* SPDX-License-Identifier: MIT */
/*
 * test_agent_attempts.h - what code that took the agent over may try: a table
 */
#pragma once

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/confine/confine.h"

#define CONFINE_CLIENT (CONFINE_CONNECT | CONFINE_NAMES | CONFINE_READ)

#define DEADLY (1000 + SIGSYS) /* an outcome beside errnos: the kernel ended it */
#define FAULTS (1000 + SIGSEGV)

#define NET (CONFINE_CONNECT | CONFINE_READ)
#define EVERY (NET | CONFINE_NAMES | CONFINE_CREATE | CONFINE_EDIT)
#define HOST (EVERY | 1U << 16) /* and read_host */
#define KEEP (EVERY | CONFINE_KEEP)
/* all that the main process ever has */
#define MAIN                                                                             \
	(CONFINE_CHILDREN | CONFINE_READ | CONFINE_CREATE | CONFINE_EDIT |               \
	 CONFINE_COLLECT | CONFINE_KEEP)
#define LANDLOCK 1 /* held by it alone */
#define PORTS 4    /* and that from this ABI */
#define OTHER 100  /* outside it need not succeed, but come to another end */

struct attempt {
	void (*act)(void); /* ends its process: with errno, or 0 */
	const char *name;
	unsigned int needs; /* of the policy */
	int outcome;        /* behind the confinement */
	int by;
};

extern const struct attempt attempts[];
extern const size_t attempt_count;

struct place {
	char folder[256], other[256], mine[300], fresh[300], elsewhere[300], theirs[300];
	int listeners[2];
	uint16_t ports[2]; /* the policy allows the first */
	int tcp, udp;      /* sockets that are open already, and not connected */
	int pair[2];       /* a pair of streams */
	int pidfd;         /* of the test's own process */
};

extern struct place place;

/** listen_anywhere() - A socket that listens on a loopback port of its own; fd or -1 */
int listen_anywhere(uint16_t *port);

/** place_make() - What there is to be reached: made anew, for one test */
void place_make(void);
