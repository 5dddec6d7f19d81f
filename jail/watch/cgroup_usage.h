/* SPDX-License-Identifier: MIT */
/*
 * cgroup_usage.h - what a leaf has used, as its files count it
 */
#ifndef STEPJAIL_JAIL_WATCH_CGROUP_USAGE_H
#define STEPJAIL_JAIL_WATCH_CGROUP_USAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "jail/launch/cgroup/cgroup.h"

/* each is NO_LIMIT where the kernel does not tell it */
struct cgroup_usage {
	uint64_t memory_peak_bytes;
	uint64_t pids_peak;
	uint64_t oom_kills;    /* memory.events oom_kill */
	uint64_t pids_refused; /* pids.events max: forks that the limit refused */
	uint64_t user_us, system_us, throttled_us;
};

/**
 * cgroup_usage() - Read what a leaf has used
 * @before:	Taken off every count that is not a peak; NULL for nothing
 */
void cgroup_usage(const struct cgroup *cg, const struct cgroup_usage *before,
		  struct cgroup_usage *u);

/** cgroup_cpu() - Read the CPU times alone; what cannot be read stays as it is */
void cgroup_cpu(const struct cgroup *cg, struct cgroup_usage *u);

/**
 * cgroup_memory() - Bytes of memory that a leaf holds, and cannot give back
 * @enough:	Where it has no more than this, what it could give back is not looked for
 *
 * Return: bytes, 0 where they cannot be read. Kernel: cgroup-v2.rst, "Memory"
 */
uint64_t cgroup_memory(const struct cgroup *cg, uint64_t enough);

/** cgroup_counted() - Is it known, and more than zero? */
bool cgroup_counted(uint64_t count);

#endif
