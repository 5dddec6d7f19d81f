/* SPDX-License-Identifier: MIT */
/*
 * serving.h - what all sessions of the supervisor share
 */
#pragma once

#include "init/wire.h"
#include "jail/base/event_loop.h"
#include "jail/base/tree.h"
#include "jail/plan/plan.h"
#include "jail/serve/wire/queue.h"

#define SERVE_BUCKETS 256 /* by number */

struct session;

struct serve {
	const struct plan *plan;
	const struct tree *root;
	const struct confinement *confinement; /* of this process */
	struct event_loop loop;
	struct port client, spawner;
	uint32_t last_jail; /* number that the spawner knows the youngest jail by */
	struct wire_reader reader;
	struct queue queue;
	bool paused; /* the client reads too slowly: nothing is read of it, or of steps */
	/* the youngest of each bucket, also while they are ending */
	struct session *bucket[SERVE_BUCKETS];
	uint64_t sessions, steps; /* how many there are */
	bool media_held;          /* some step's channel waits for the client to read */
	bool ending;              /* no client any more, or a signal */
	bool lost;                /* no spawner any more */
	int status;               /* exit status, or -errno with error filled */
	struct err error;
};

/* session_life.c */

/** serve_end() - End all sessions, then serve itself, with this status */
void serve_end(struct serve *s, int status);

/* session_say.c */

/** serve_put() - A frame to the client, its payload behind struct serve_at */
void serve_put(struct serve *s, uint16_t type, uint32_t session, uint32_t branch,
	       const void *payload, size_t length);

/** serve_lacks() - If @r is not 0, a frame for the client was lost: end serve */
void serve_lacks(struct serve *s, int r, size_t bytes);
