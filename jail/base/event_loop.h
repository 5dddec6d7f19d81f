/* SPDX-License-Identifier: MIT */
/*
 * event_loop.h - one loop over the fds and deadlines of many sessions
 */
#pragma once

#include <sys/epoll.h>

#include "init/err.h"
#include "jail/base/clock.h"

/* an fd that the loop waits for; the struct must stay in memory until the turn is over */
struct port {
	int fd; /* -1: closed */
	/* EPOLL bits that are waited for; 0: the loop does not know the fd */
	uint32_t events;
	void (*serve)(struct port *p, uint32_t events);
	void *owner;
};

/* a deadline */
struct bell {
	uint64_t at_ms; /* as clock_now_ms() counts; 0: not set */
	void (*ring)(struct bell *b);
	void *owner;
	struct bell *next;
};

/* an action for the end of the turn, when no fetched event points to memory any more */
struct later {
	void (*act)(void *owner);
	void *owner;
	struct later *next;
};

struct event_loop {
	int epoll;
	struct bell *bells; /* the set ones */
	struct later *laters;
};

#define PORT(fd_, serve_, owner_)                                                        \
	(struct port)                                                                    \
	{                                                                                \
		.fd = (fd_), .serve = (serve_), .owner = (owner_)                        \
	}

/** event_loop_open() - Return: 0, or -errno of epoll_create1(2) */
int event_loop_open(struct event_loop *h, struct err *e);

/**
 * event_loop_listen() - Choose the events of a port that the loop waits for
 * @events:	EPOLL bits; 0 for none, not even end of file
 *
 * Return: 0, or -errno of epoll_ctl(2)
 */
int event_loop_listen(struct event_loop *h, struct port *p, uint32_t events);

/** event_loop_close() - Forget a port and close its fd; nothing for a closed port */
void event_loop_close(struct event_loop *h, struct port *p);

/** event_loop_set() - Ring once, at @at_ms; an earlier setting is forgotten */
void event_loop_set(struct event_loop *h, struct bell *b, uint64_t at_ms);

/** event_loop_unset() - Do not ring; nothing for a bell that is not set */
void event_loop_unset(struct event_loop *h, struct bell *b);

/** event_loop_later() - Call @act at the end of the turn, such as free(3) */
void event_loop_later(struct event_loop *h, struct later *l, void (*act)(void *owner),
		      void *owner);

/**
 * event_loop_turn() - Wait, serve the ports that are ready, ring the bells that are due
 *
 * Without a set bell the wait has no deadline.
 *
 * Return: 0, or -errno of epoll_wait(2)
 */
int event_loop_turn(struct event_loop *h, struct err *e);
