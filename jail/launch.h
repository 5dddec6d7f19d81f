/* SPDX-License-Identifier: MIT */
/*
 * launch.h - start a jail and hold its ends: cgroup, clone, maps, control socket
 */
#ifndef STEPJAIL_JAIL_LAUNCH_H
#define STEPJAIL_JAIL_LAUNCH_H

#include <stdbool.h>
#include <sys/types.h>

#include "init/err.h"
#include "jail/cgroup.h"
#include "jail/ids.h"
#include "jail/plan.h"

struct jail {
	const struct plan *plan;
	bool limited; /* by a cgroup; false only by --allow-missing=cgroup */
	struct cgroup cgroup;
	struct err missing; /* says why not, if not limited */
	struct ids ids;
	pid_t pid;   /* stepjail-init, in the launcher's PID namespace; 0: it is gone */
	int pidfd;   /* of the same */
	int control; /* the launcher's end of the control socket */
	int gate;    /* the launcher's end of the gate, see gate.h */
};

#define JAIL_NONE                                                                        \
	(struct jail)                                                                    \
	{                                                                                \
		.cgroup = CGROUP_NONE, .ids = { .slot_fd = -1 }, .pidfd = -1,            \
		.control = -1, .gate = -1                                                \
	}

/**
 * launch_jail() - Start a jail up to the point where its child walks the stages
 * @j:		JAIL_NONE before; the caller calls launch_end() whatever this returns
 *
 * clone3(2) with seven namespaces, CLONE_PIDFD and, where limits are enforced,
 * CLONE_INTO_CGROUP. All signals must be blocked by the caller, so that the child is born
 * with them blocked.
 *
 * Return: 0, or -errno; the program has then not run
 */
int launch_jail(struct jail *j, const struct plan *p, struct err *e);

/** launch_wait() - Kill what is left and wait until it is gone; the leaf stays readable
 */
void launch_wait(struct jail *j);

/** launch_kill() - SIGKILL to every process of the jail */
void launch_kill(const struct jail *j);

/**
 * launch_end() - launch_wait(), then remove the cgroup leaf and close all fds
 *
 * Return: 0, or -errno of cgroup_end()
 */
int launch_end(struct jail *j, struct err *e);

#endif
