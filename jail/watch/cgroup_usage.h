/* SPDX-License-Identifier: MIT */
/*
 * cgroup_usage.h - usage of a cgroup leaf, as its files count it
 */
#pragma once

#include "jail/launch/cgroup/cgroup.h"

/* each is NO_LIMIT where the kernel does not tell it */
struct cgroup_usage {
	uint64_t memory_peak_bytes;
	uint64_t pids_peak;
	uint64_t oom_kills;    /* memory.events oom_kill */
	uint64_t pids_refused; /* pids.events max: forks that the limit refused */
	uint64_t user_us, system_us, throttled_us;
	uint64_t ooms; /* memory.events oom: its own limit was in the way */
};

/**
 * cgroup_usage() - Read the usage of a leaf
 * @before:	Usage to subtract from every count that is not a peak; or NULL
 */
void cgroup_usage(const struct cgroup *cg, const struct cgroup_usage *before,
		  struct cgroup_usage *u);

/** cgroup_cpu() - Read the CPU times alone; an unreadable one keeps its value in @u */
void cgroup_cpu(const struct cgroup *cg, struct cgroup_usage *u);

/**
 * cgroup_memory() - Bytes of memory that a leaf holds and the kernel cannot take back
 * @enough:	If the leaf holds no more than this, caches are not subtracted
 *
 * Return: bytes, 0 where they cannot be read. Kernel: cgroup-v2.rst, "Memory"
 */
uint64_t cgroup_memory(const struct cgroup *cg, uint64_t enough);

/**
 * cgroup_read() - Read a file of the leaf, by a held fd if there is one
 *
 * Return: as io_read_file_at()
 */
ssize_t cgroup_read(const struct cgroup *cg, const char *file, char *text, size_t size);

/** cgroup_count() - How many processes are in the leaf, -errno if unreadable */
int cgroup_count(const struct cgroup *cg);
