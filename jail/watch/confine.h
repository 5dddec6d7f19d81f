/* SPDX-License-Identifier: MIT */
/*
 * confine.h - a process gives up its rights before it reads a byte that a jail wrote
 *
 * The watcher of `run` reads hostile bytes: output, frames of init, arguments of refused
 * calls. Whoever takes it over through them finds a process that holds the fds of one
 * jail and nothing else:
 *
 *	ids            as root, an id of the reserved range that no other process has
 *	capabilities   none; no_new_privs; not dumpable
 *	fds            those that were named
 *	Landlock       no path at all but those that were named, where the kernel has it
 *	seccomp        a table of calls: confined_syscalls.h, syscalls.c. None of them
 *	               takes a path, makes a process, sends a signal or makes
 *	               executable memory; those of a copier (copier.h) take paths
 *
 * What takes rights later on stays with the keeper (jail/launch/keeper.h).
 */
#pragma once

#include <stdio.h>
#include <sys/types.h>

#include <linux/landlock.h>

#include "init/err.h"
#include "init/filter.h"

struct confine {
	uid_t id; /* to become, group id too; 0: the ids stay, as an ordinary user's */
	uint64_t capabilities; /* bits of those that stay, of what there is */
	const int
		*keep; /* fds beyond 2 that stay open, in any order; -1 is passed over */
	size_t keep_count;
	int join; /* pidfd of a jail's init: enter that jail's namespaces, but for those
		   * of ids and pids. 0: none */
	int root; /* folder that becomes the root directory, and may be read: a procfs of
		   * the jails' PID namespace, the one of procfs_use(); needs
		   * CAP_SYS_CHROOT. -1: no path may be read */
	const struct landlock_path_beneath_attr *rules; /* of Landlock, with root -1 */
	size_t rule_count;
	int landlock_abi;                 /* 0: the kernel has no Landlock */
	const struct sock_filter *filter; /* NULL: none more than there are */
	size_t filter_count;
};

/* what the kernel says of the confined process */
struct confinement {
	bool known;
	int landlock_abi;  /* in force, and tried; or 0 */
	char status[2048]; /* from posture_compare(), whose values are short */
};

/**
 * confine_bounding() - Empty the capability bounding set
 *
 * It only limits what an exec gives, which no_new_privs ends: whoever lacks CAP_SETPCAP
 * keeps it, and the report has it. Apart from confine_self(), as it takes a while and can
 * be done while the jail is made.
 *
 * Return: 0, or -errno
 */
int confine_bounding(struct err *e);

/**
 * confine_self() - Give up everything but what the struct names, for good
 * @told:	Filled with what reads back; NULL: nothing is read back, which takes time
 *
 * Only for a process of one thread, and before it reads what a jail wrote. A parent-death
 * signal stays set.
 *
 * Return: 0, or -errno; the process may then be confined in part, and must not go on
 */
int confine_self(const struct confine *c, struct confinement *told, struct err *e);

/** confine_print() - Write @key, and what was read back as a JSON object, or null.
 * @told: may be NULL */
void confine_print(const char *key, const struct confinement *told, FILE *out);

struct status_plan;

/**
 * confine_compare() - Is the text of /proc/self/status what was asked for? A part of
 * confine_self(), for tests
 *
 * Return: 0, or -errno; -EPERM with the row that reads otherwise
 */
int confine_compare(const char *text, const struct status_plan *p,
		    struct confinement *told, struct err *e);
