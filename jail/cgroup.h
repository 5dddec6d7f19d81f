/* SPDX-License-Identifier: MIT */
/*
 * cgroup.h - one cgroup v2 leaf per run: limits in, usage out, kill at the end
 */
#ifndef STEPJAIL_JAIL_CGROUP_H
#define STEPJAIL_JAIL_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "init/err.h"
#include "jail/plan.h"

struct cgroup {
	int base;  /* directory fd that leaves are made in */
	int leaf;  /* directory fd of this run's leaf */
	int guard; /* pipe end that the sweeper watches; closing it ends the sweeper */
	pid_t sweeper; /* 0 when there is none */
	char name[64]; /* the leaf's, within base */
};

#define CGROUP_NONE                                                                      \
	(struct cgroup)                                                                  \
	{                                                                                \
		.base = -1, .leaf = -1, .guard = -1                                      \
	}

/* NO_LIMIT: not known, as where a kernel lacks memory.peak or pids.peak */
struct cgroup_usage {
	uint64_t memory_peak_bytes;
	uint64_t pids_peak;
	uint64_t oom_kills;    /* memory.events oom_kill */
	uint64_t pids_refused; /* pids.events max: forks that the limit refused */
	uint64_t user_us, system_us, throttled_us;
};

/**
 * cgroup_find() - Open the place where this process may make leaves
 * @base:	Gets a directory fd; all controllers a jail needs are enabled below it
 * @where:	Gets words for it, or for what is missing, at most @size bytes
 * @make:	false only looks, and changes nothing: for check
 *
 * As root: /sys/fs/cgroup/stepjail. Otherwise the parent of the own cgroup, or the own
 * cgroup, whichever is delegated to this user. Follows cgroup-v2.rst, "Delegation" and
 * "No Internal Process Constraint".
 *
 * Return: 0, -ENOENT (no cgroup v2, or a controller is missing), -EACCES (nothing is
 * delegated), or -errno; @e then holds one line with the remedy
 */
int cgroup_find(int *base, bool make, char *where, size_t size, struct err *e);

/**
 * cgroup_make() - Make a leaf, write a plan's limits into it, start its sweeper
 * @cg:		Filled; the caller ends it with cgroup_end(), whatever this returns
 *
 * Fails closed: a limit that cannot be written is an error, never a run without it.
 *
 * Return: 0, or what cgroup_find() or a write returned
 */
int cgroup_make(struct cgroup *cg, const struct plan *p, struct err *e);

/** cgroup_usage() - Read what the leaf has used; unreadable values are NO_LIMIT */
void cgroup_usage(const struct cgroup *cg, struct cgroup_usage *u);

/** cgroup_cpu() - Read the CPU times alone; an unreadable one stays as it is */
void cgroup_cpu(const struct cgroup *cg, struct cgroup_usage *u);

/** cgroup_count() - How many processes are in the leaf, -errno if unreadable */
int cgroup_count(const struct cgroup *cg);

/** cgroup_kill() - SIGKILL to everything in the leaf, by cgroup.kill (Linux 5.14) */
void cgroup_kill(const struct cgroup *cg);

/**
 * cgroup_end() - Kill what is left, remove the leaf, end the sweeper
 *
 * Return: 0, or -errno of rmdir(2) when the leaf is still there
 */
int cgroup_end(struct cgroup *cg, struct err *e);

#endif
