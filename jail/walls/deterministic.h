/* SPDX-License-Identifier: MIT */
/*
 * deterministic.h - what a run has of the moment and the machine, fixed by
 * --deterministic, --aslr and --clock-start
 *
 * No walls: a program that wants to differ from run to run can. But what is asked for is
 * there when the program starts, and read back (posture_deterministic.c), or the program
 * does not start. What is fixed within Python is its interpreter's part, which the
 * environment tells of it: rootfs/python/fixed.py, rootfs/interpreter/clock.c.
 */
#ifndef STEPJAIL_JAIL_WALLS_DETERMINISTIC_H
#define STEPJAIL_JAIL_WALLS_DETERMINISTIC_H

#include "init/err.h"
#include "jail/plan/plan.h"

/**
 * deterministic_clock() - Have clocks that start now, at zero, for the children made from
 * here on
 * @p:		If it says so, and is no template's: the clones of that have their own
 *
 * A new time namespace, see time_namespaces(7): CLOCK_MONOTONIC and CLOCK_BOOTTIME. The
 * kernel has none for CLOCK_REALTIME. For a process with CAP_SYS_ADMIN and CAP_SYS_TIME
 * in its user namespace, with the id that it was made with.
 *
 * Return: 0, -EINVAL or -ENOSYS (no such namespaces), or -errno
 */
int deterministic_clock(const struct plan *p, struct err *e);

/**
 * deterministic_domain() - The execution domain of a plan's program, as personality(2)
 * has it
 */
unsigned long deterministic_domain(const struct plan *p);

/**
 * deterministic_cpu() - Run on one CPU from now on, if the plan says so: the one that
 * this runs on
 *
 * Not the first of all, as sessions that run at a time would have it together.
 *
 * Return: 0 or -errno of sched_setaffinity(2)
 */
int deterministic_cpu(const struct plan *p, struct err *e);

#endif
