/* SPDX-License-Identifier: MIT */
/*
 * run_loop.h - the watcher: from the opening of a jail's gate to its end
 *
 * Its frames, its deadlines, what it writes, its refused calls, stepjail's own signals.
 * All of it is hostile, and read by a process that has given up its rights.
 */
#pragma once

#include "jail/egress/start.h"
#include "jail/watch/outcome.h"
#include "jail/watch/startup.h"

/* one run, from launch to end; RUN_NONE before */
struct run {
	struct startup up;
	struct outcome outcome;
	int signals;
	int report;            /* its fd, or -1 */
	int hold[4];           /* the fds of --hold, or -1 */
	int keeper;            /* the keeper's socket, not owned; -1: not listened to */
	int copier;            /* its socket, or -1 */
	struct egress egress;  /* the proxy of --allow-host */
	uint64_t asked_ms;     /* when the keeper was asked for a sample; 0: it was not */
	bool blind;            /* the last sample failed */
	uint64_t start_ms;     /* of the program */
	uint64_t sampled_ms;   /* when CPU and memory were last looked at */
	uint64_t sample_in_ms; /* how long after that to look again */
	uint64_t flooded_ms; /* how long the listener is not looked at, 0 for no flood */
	bool ended;
	struct err lost; /* the watcher's own reason for not going on; zeroed: none */
};

#define RUN_NONE                                                                         \
	(struct run)                                                                     \
	{                                                                                \
		.up = STARTUP_NONE,                                                      \
		.outcome = { .refused = { .fd = -1 }, .capture = CAPTURE_NONE },         \
		.signals = -1, .report = -1, .hold = { -1, -1, -1, -1 }, .keeper = -1,   \
		.copier = -1, .egress = EGRESS_NONE                                      \
	}

/**
 * run_loop_run() - Open the gate, wait until the jail has ended, and gather what it used
 * @run:	up is complete, and signals is open; the outcome is filled bit by bit
 *
 * Return: 0, or -errno: the outcome is not known, or captured output was lost
 */
int run_loop_run(struct run *run, struct err *e);
