/* SPDX-License-Identifier: MIT */
/*
 * spawned.h - a jail of `serve`, as the spawner has it: from OPEN to ENDED
 */
#pragma once

#include "jail/egress/start.h"
#include "jail/launch/ending.h"
#include "jail/serve/spawner/measurer.h"
#include "jail/serve/template/template_pool.h"
#include "jail/watch/startup.h"

#define SPAWNER_BUCKETS 256

struct spawner {
	const struct plan *plan;
	struct event_loop loop;
	struct template_pool pool;
	struct measurers measurers;
	struct port socket, signals, keeper;
	struct spawned *bucket[SPAWNER_BUCKETS];
	uint64_t count;     /* of jails */
	bool slow;          /* the supervisor's socket is full */
	bool ending;        /* there is no supervisor any more */
	uint32_t stop;      /* signal that the supervisor is to be told, or 0 */
	struct bell hung;   /* it was told, and must have ended by then */
	bool template_told; /* TEMPLATE was said */
	char oom_base[16];  /* oom_score_adj of serve itself, and of states */
	struct err error;   /* why the supervisor was given up */
};

/* a jail goes one way */
enum spawned_phase {
	SPAWNED_MAKING, /* a template is asked for it, or it walks its stages */
	SPAWNED_UP,     /* its gate is open */
	SPAWNED_ENDING,
	SPAWNED_GONE,
};

struct spawned {
	struct spawner *spawner;
	struct spawned *next;
	uint32_t number;
	enum spawned_phase phase;
	struct order order;
	struct port control, gate;
	struct bell late;
	struct ending ending;
	struct egress egress; /* its proxy, which is heard before the gate is opened */
	struct port proxy;
	int channel, diagnostics, facts;
	ino_t space;            /* its PID namespace */
	bool asked;             /* a template, which has not answered yet */
	bool unmet;             /* it has, and the clone has not said that it is there */
	bool told;              /* OPENED or FAILED was said */
	bool to_end;            /* END was asked for */
	int unsent;             /* errno of a signal that was to be sent */
	struct err error, left; /* of FAILED; of ENDED */
	struct spawn_answer measured; /* to be told; of kind 0: none */
	struct later forget;
	struct startup up; /* its jail, up to the opened gate */
};

/** spawned_open() - Begin to launch a jail; 0, or -ENOMEM, also where too many are
 * refused and not ended. What else goes wrong is told */
int spawned_open(struct spawner *p, uint32_t number);

/**
 * spawned_reach() - Is this a process of the jail, and still there? In reach.c
 * @pid:	From procfs_held(@pidfd)
 *
 * Return: its folder in /proc, the caller's to close, -ESRCH, -EPERM (it is another's),
 * or
 * -errno
 */
int spawned_reach(const struct spawned *j, int pidfd, pid_t pid);

/** spawned_update() - Tell what is due to be told, by where the jail is; may forget it */
void spawned_update(struct spawned *j);

/** spawned_end() - Kill every process of it */
void spawned_end(struct spawned *j);

/**
 * spawner_say() - Send an answer to the supervisor; in spawner.c
 *
 * Return: 0, -EAGAIN: it reads too slowly, and spawned_update() is called for all when it
 * has read; or -errno
 */
int spawner_say(struct spawner *p, const struct spawn_answer *a, const int *fds,
		size_t count);
