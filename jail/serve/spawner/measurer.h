/* SPDX-License-Identifier: MIT */
/*
 * measurer.h - the spawner's measurers: processes that read what it must not wait for
 */
#pragma once

#include "jail/base/event_loop.h"
#include "jail/serve/spawner/measure.h"

#define MEASURERS_MAX 16
#define MEASURE_MS 5000 /* one has page tables to walk, and the CPU to wait for */

struct measurers;

struct measurer {
	struct measurers *all;
	pid_t pid; /* 0: none */
	int out;   /* the end of its pipe */
	bool late; /* it was killed for that */
	uint32_t jail, tag;
	struct port end; /* its pidfd */
	struct bell deadline;
};

struct measurers {
	struct event_loop *loop;
	const struct confine *by; /* of each, its id and its root directory */
	/* called once for each that was started */
	void (*done)(struct measurers *all, uint32_t jail, uint32_t tag,
		     const struct measured *m);
	struct measurer one[MEASURERS_MAX];
};

/**
 * measurer_start() - Begin to measure; done() follows, with an errno where it ends
 * without a word
 * @dir:	Of the process; stays the caller's, as @pid is its number
 *
 * Return: 0, -EBUSY (one measures for this jail, or as many as there may be), or -errno
 */
int measurer_start(struct measurers *all, uint32_t jail, uint32_t tag,
		   enum spawn_measure kind, int dir, pid_t pid);
