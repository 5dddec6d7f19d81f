/* SPDX-License-Identifier: MIT */
/*
 * launch.h - start a jail and hold its ends: cgroup, clone, maps, control socket
 */
#pragma once

#include "jail/launch/keeper.h"
#include "jail/walls/stage.h"
#include "jail/launch/cgroup/cgroup.h"
#include "jail/launch/lease.h"
#include "jail/base/tree.h"

/* what all jails of a plan have in common: found once, however many are started */
struct parts {
	const struct plan *plan;
	struct sources sources; /* their mounts last from a launch to its clone */
	struct tree root;
	struct caps caps;
	int init_fd;           /* stepjail-init, to be executed */
	struct keeper *keeper; /* set by the caller after launch_find() */
	int landlock_abi;      /* 0: the kernel has no Landlock */
};

struct jail {
	const struct plan *plan;
	struct keeper *keeper;
	uint32_t kept;     /* its number there, 0 before */
	bool warm;         /* cloned from a template, and not the launcher's child */
	uint64_t start_ms; /* CLOCK_MONOTONIC, before there was a child */
	bool limited;      /* by a cgroup; false only by --allow-missing=cgroup */
	struct cgroup cgroup;
	struct err missing; /* says why not, if not limited */
	struct ids ids;
	struct lease lease;
	int landlock_abi; /* 0: the kernel has no Landlock */
	struct tree root;
	const struct sources *sources; /* as many as the plan has binds */
	pid_t pid;   /* stepjail-init, in the launcher's PID namespace; 0: it is gone */
	int pidfd;   /* of the same */
	int control; /* the launcher's end of the control socket */
	int gate;    /* the launcher's end of the gate, see gate.h */
	/* to become the program's fds 0, 1 and 2, -1 for the launcher's own; taken and
	 * closed by the launch */
	int stdio[3];
};

#define JAIL_NONE                                                                        \
	(struct jail)                                                                    \
	{                                                                                \
		.cgroup = CGROUP_NONE, .ids = { .slot_fd = -1 }, .pidfd = -1,            \
		.control = -1, .gate = -1, .stdio = {                                    \
			[0 ... 2] = -1                                                   \
		}                                                                        \
	}

/**
 * launch_find() - Find what the jails of a plan need of this host, and check it
 * @parts:	Filled; strings and the fd live as long as the process
 *
 * Every fd that the caller left open is set to end at exec.
 *
 * Return: 0, or -errno
 */
int launch_find(struct parts *parts, const struct plan *p, struct err *e);

/**
 * launch_jail() - Start a jail up to the point where its child walks the stages
 * @j:		JAIL_NONE before, but for stdio; the caller calls launch_end()
 *		whatever this returns
 * @parts:	From launch_find(); may be used again afterwards
 *
 * clone3(2) with new namespaces, CLONE_PIDFD and, where limits are enforced,
 * CLONE_INTO_CGROUP. All signals must be blocked by the caller, so that the child is born
 * with them blocked.
 *
 * Return: 0, or -errno; the program has then not run
 */
int launch_jail(struct jail *j, struct parts *parts, struct err *e);

/**
 * launch_prepare() - All that a clone takes along; nothing runs yet
 * @template:	Whose clone it will be; NULL for the launcher's own
 * @c:		Filled; points into @j and @parts. launch_close_child() closes its fds,
 *		whatever this returns
 *
 * Return: as launch_jail()
 */
int launch_prepare(struct jail *j, struct parts *parts, const struct jail *template,
		   struct child *c, struct err *e);

/** launch_close_child() - The clone is made, or will not be: it has the fds, or nobody */
void launch_close_child(struct jail *j, struct child *c);

/**
 * launch_go() - Do what only the launcher can do to a clone, and let it walk the stages
 * @j:		Its pid and pidfd are known
 *
 * Return: as launch_jail()
 */
int launch_go(struct jail *j, struct err *e);

/** launch_wait() - Kill what is left and wait until it is gone; the leaf stays readable
 */
void launch_wait(struct jail *j);

/**
 * launch_gone() - Has the jail ended?
 *
 * For who waits with others for the pidfd to become readable; see ending.h.
 */
bool launch_gone(struct jail *j);

/** launch_kill() - SIGKILL to every process of the jail */
void launch_kill(const struct jail *j);

/** launch_end() - launch_wait(), then have the keeper remove the leaf, and close all
 * fds */
void launch_end(struct jail *j);
