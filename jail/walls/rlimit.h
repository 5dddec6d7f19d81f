/* SPDX-License-Identifier: MIT */
/*
 * rlimit.h - what one process may use, below what the cgroup gives them all
 */
#pragma once

#include "jail/plan/plan.h"

struct rlimit_row {
	const char *name; /* as in getrlimit(2) */
	const char *line; /* as in /proc/PID/limits, proc(5) */
	uint64_t value;   /* soft and hard */
};

extern const size_t rlimit_count;

/**
 * rlimit_plan() - What rlimit_set() sets for one of rlimit_count rows
 * @lower:	Where the calling process's own hard limit is lower, that: what was
 *		planned has been refused, or reads otherwise
 *
 * Return: false, if this one is not limited
 */
bool rlimit_plan(size_t row, const struct plan *p, bool cgroup, bool shared_id,
		 bool lower, struct rlimit_row *out);

/**
 * rlimit_set() - Set the calling process's resource limits, soft and hard, but for files
 * @cgroup:	Memory is limited by a cgroup; if not, RLIMIT_DATA stands in for it
 * @shared_id:	init runs under the program's id, and counts against its processes
 * @warm:	A template has set what is the same in every plan, and no more: its clones
 *		could not raise it
 *
 * See setrlimit(2). A hard limit of the caller that is lower already stays.
 *
 * Return: 0, or -errno
 */
int rlimit_set(const struct plan *p, bool cgroup, bool shared_id, bool warm,
	       struct err *e);

/** rlimit_set_files() - Set RLIMIT_NOFILE; the program's filter lets this through */
int rlimit_set_files(const struct plan *p, struct err *e);

/**
 * rlimit_raise_files() - In the launcher: have as many open files as the hard limit says
 */
void rlimit_raise_files(void);

/**
 * rlimit_core_fault() - Why would a crash in a jail be handled outside?
 * @pattern:	Of /proc/sys/kernel/core_pattern; "" where it cannot be read
 * @can_be_one:	May RLIMIT_CORE be 1 in a jail?
 *
 * Return: what is wrong and how to mend it, or NULL
 */
const char *rlimit_core_fault(const char *pattern, bool can_be_one);

/**
 * rlimit_raise_core() - In the launcher: see to it that the jail's RLIMIT_CORE can be 1
 *
 * A hard limit of 0 is raised if the caller has the right. If not, and core_pattern names
 * a program, this fails: that program would be started for each crash in a jail. So it
 * does where core_pattern is a socket.
 *
 * Return: 0, or -errno
 */
int rlimit_raise_core(struct err *e);
