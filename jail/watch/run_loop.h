/* SPDX-License-Identifier: MIT */
/*
 * run_loop.h - wait for a jail's end: its frames, its deadlines, the launcher's own
 * signals
 */
#ifndef STEPJAIL_JAIL_WATCH_RUN_LOOP_H
#define STEPJAIL_JAIL_WATCH_RUN_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "init/err.h"
#include "init/wire.h"
#include "jail/launch/keeper.h"
#include "jail/launch/launch.h"
#include "jail/walls/gate.h"
#include "jail/watch/outcome.h"
#include "jail/watch/tmpfs_usage.h"

/* one run, from launch to end; RUN_NONE before */
struct run {
	struct jail jail;
	struct outcome outcome;
	struct proc_usage watch; /* where no cgroup counts: as last looked at */
	struct tmpfs_usage room; /* from the gate's opening to the end */
	struct wire_reader reader;
	struct gate_ready gate; /* as far as it has come */
	int signals;
	int report;            /* its fd, or -1 */
	int keeper;            /* the keeper's socket, not owned; -1: not listened to */
	bool confines;         /* rights are given up before the gate opens */
	uint64_t asked_ms;     /* when the keeper was asked for a sample; 0: it was not */
	bool blind;            /* the last sample failed */
	uint64_t start_ms;     /* of the launch, then of the program */
	uint64_t sampled_ms;   /* when CPU and memory were last looked at */
	uint64_t sample_in_ms; /* how long after that to look again */
	pid_t program;         /* in the launcher's PID namespace, 0 until it is ready */
	uint64_t flooded_ms; /* how long the listener is not looked at, 0 for no flood */
	unsigned int ready;  /* who has said so: bit 0 init, bit 1 the program */
	bool ended;
};

#define RUN_NONE                                                                         \
	(struct run)                                                                     \
	{                                                                                \
		.jail = JAIL_NONE,                                                       \
		.outcome = { .refused = { .fd = -1 }, .capture = CAPTURE_NONE },         \
		.room = TMPFS_USAGE_NONE, .signals = -1, .report = -1, .keeper = -1      \
	}

/**
 * run_loop_run() - Open the gate when the jail stands, and wait until it has ended
 * @run:	jail is launched and signals is open; the outcome is filled bit by bit
 *
 * Return: 0, or -errno of poll(2)
 */
int run_loop_run(struct run *run, struct err *e);

/**
 * run_loop_look() - What a jail uses, for struct keeper
 * @plan:	Its plan; of one jail in the life of the process
 */
void run_loop_look(void *plan, pid_t init, struct keeper_sample *s);

/** run_loop_gather() - Fill in what can only be known before the jail is gone */
void run_loop_gather(struct run *run);

#endif
