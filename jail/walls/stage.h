/* SPDX-License-Identifier: MIT */
/*
 * stage.h - from clone to exec: the stages of a jail's child, in a table, in order
 */
#pragma once

#include <sched.h>

#include "jail/walls/caps.h"
#include "jail/walls/gate.h"
#include "jail/walls/mount.h"

/* What the stages know. The launcher makes it before its clone, which inherits it; a
 * template makes one for each of its clones, of struct warm_plan and struct warm_request.
 * The stages change only its fds, the key and the program's pid. */
struct child {
	const struct plan *plan;
	const struct ids *ids;
	const struct caps *caps;
	struct sources *sources;
	bool sources_cloned;  /* by the launcher, being root */
	int landlock_abi;     /* 0: the kernel has no Landlock */
	bool cgroup;          /* limits are in force; without it rlimits stand in */
	bool leased;          /* the launcher cloned it into its network namespace */
	bool warm;            /* a clone of a template: its program runs already */
	int control;          /* the jail's end of the control socket */
	int init_fd;          /* stepjail-init, to be executed */
	int gate;             /* the program waits at it for the launcher's GO */
	int handed[GATE_FDS]; /* to the launcher, see gate.h; -1 without one */
	int helper[2];        /* the last two fds of --hold; 0 without */
	uint64_t exec_key;    /* see seccomp.h */
	const int *stdio;     /* three fds to become the program's, -1 for those it has */
	pid_t program;        /* 0 in the program's process after the split */
};

enum stage_role {
	ROLE_CHILD = 1,   /* the one process before the split */
	ROLE_INIT = 2,    /* PID 1 after it */
	ROLE_PROGRAM = 4, /* PID 2 after it */
	/* in place of the program: */
	ROLE_WARM = 8,      /* a clone of a template, which returns and is the program */
	ROLE_TEMPLATE = 16, /* what such clones are made of; see template.h */
};

/* what clone3() makes anew for a jail, whoever calls it; the stage of the ids makes the
 * network namespace */
#define STAGE_NAMESPACES                                                                 \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS |      \
	 CLONE_NEWCGROUP)

struct stage {
	const char *name;
	unsigned int roles; /* enum stage_role bits: who runs it */
	int (*act)(struct child *c, struct err *e);
};

extern const struct stage stages[];
/* the last row is exec, which the launcher must recognise in a WIRE_FAIL frame */
extern const size_t stage_count;

/**
 * stage_run() - Walk the table as the clone's child
 *
 * Every failure is sent to the launcher as a WIRE_FAIL frame, and the process exits: the
 * program is never executed behind a stage that failed. Returns in the program of a warm
 * jail alone, its gate open, with no fd but 0 to 2.
 */
void stage_run(struct child *c);

/* the last stage: exec.c */

/**
 * exec_init() - Execute stepjail-init, with its fds at the numbers of init/init.h
 *
 * All other fds have close-on-exec already.
 *
 * Return: -errno; it does not return where it succeeds
 */
int exec_init(struct child *c, struct err *e);

/**
 * exec_program() - Execute the plan's program
 *
 * Looks for it in each folder of the plan's PATH, as execvp(3) does, but starts no shell.
 *
 * Return: -errno; it does not return where it succeeds
 */
int exec_program(struct child *c, struct err *e);
