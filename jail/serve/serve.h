/* SPDX-License-Identifier: MIT */
/*
 * serve.h - stepjail serve: one client, one plan, many sessions
 */
#ifndef STEPJAIL_JAIL_SERVE_SERVE_H
#define STEPJAIL_JAIL_SERVE_SERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "init/err.h"
#include "init/wire.h"
#include "jail/base/event_loop.h"
#include "jail/launch/keeper.h"
#include "jail/launch/launch.h"
#include "jail/plan/plan.h"
#include "jail/serve/queue.h"
#include "jail/serve/template/spare.h"
#include "jail/serve/template/template_pool.h"

#define SERVE_BUCKETS 256

struct session;

/* jails that stand before they are asked for: session_ready.c */
struct ready {
	struct session *first; /* the youngest; also those that are ending */
	struct bell look;
	unsigned int failures; /* since one was taken */
	uint64_t again_ms;     /* not before that is another one made */
	char why[ERR_TEXT_MAX];
};

struct serve {
	const struct plan *plan;
	struct parts parts;
	struct keeper keeper;
	struct event_loop hub;
	struct template_pool stock;
	struct port client, signals;
	struct wire_reader reader;
	struct queue queue;
	bool paused; /* the client does not read: nothing is taken from it or from steps */
	struct session *bucket[SERVE_BUCKETS];
	uint64_t sessions; /* how many there are */
	struct ready ready;
	uint64_t standing; /* jails that were launched and are not up yet */
	uint64_t steps;    /* that run */
	uint64_t began_ms; /* the last of them */
	bool media_held;   /* some step's channel waits for the client to read */
	bool ending;       /* no client any more, or a signal */
	int status;        /* exit status, or -errno with error filled */
	struct err error;
	char oom_base[16]; /* oom_score_adj of serve itself, and of states */
};

/** serve_put() - A frame to the client, its payload behind struct serve_at */
void serve_put(struct serve *s, uint16_t type, uint32_t session, uint32_t branch,
	       const void *payload, size_t length);

/** serve_end() - End all sessions, then serve itself, with this status */
void serve_end(struct serve *s, int status);

/** request_serve() - Take a frame of the client */
void request_serve(struct serve *s, const struct wire_header *h,
		   const unsigned char *payload);

#endif
