/* SPDX-License-Identifier: MIT */
/*
 * hub.h - one loop over the fds and deadlines of many sessions
 */
#ifndef STEPJAIL_JAIL_HUB_H
#define STEPJAIL_JAIL_HUB_H

#include <stdint.h>
#include <sys/epoll.h>

#include "init/err.h"

/* an fd that the loop waits for; its memory must last until the turn is over */
struct port {
	int fd; /* -1: closed */
	uint32_t
		events; /* EPOLL bits that are waited for; 0: the loop does not know it */
	void (*serve)(struct port *p, uint32_t events);
	void *owner;
};

/* a deadline */
struct bell {
	uint64_t at_ms; /* as stand_now_ms() counts; 0: not set */
	void (*ring)(struct bell *b);
	void *owner;
	struct bell *next, *before;
};

/* what is to be done when nobody can still hold an event of this turn */
struct later {
	void (*act)(struct later *l);
	struct later *next;
};

struct hub {
	int epoll;
	struct bell *bells; /* those that are set */
	struct later *laters;
};

#define PORT(fd_, serve_, owner_)                                                        \
	(struct port)                                                                    \
	{                                                                                \
		.fd = (fd_), .serve = (serve_), .owner = (owner_)                        \
	}

/** hub_open() - Return: 0, or -errno of epoll_create1(2) */
int hub_open(struct hub *h, struct err *e);

/**
 * hub_listen() - Wait for other events of a port
 * @events:	0 for none, not even its end of file
 *
 * Return: 0, or -errno of epoll_ctl(2)
 */
int hub_listen(struct hub *h, struct port *p, uint32_t events);

/** hub_close() - Forget a port and close its fd; as often as one likes */
void hub_close(struct hub *h, struct port *p);

/** hub_set() - Ring once, at this time and not at any that was set before */
void hub_set(struct hub *h, struct bell *b, uint64_t at_ms);

/** hub_unset() - Do not ring */
void hub_unset(struct hub *h, struct bell *b);

/** hub_later() - Do something at the end of the turn, such as to free memory */
void hub_later(struct hub *h, struct later *l, void (*act)(struct later *l));

/**
 * hub_turn() - Wait, serve what is ready, ring what is due
 *
 * Sleeps without an end where no bell is set.
 *
 * Return: 0, or -errno of epoll_wait(2)
 */
int hub_turn(struct hub *h, struct err *e);

#endif
