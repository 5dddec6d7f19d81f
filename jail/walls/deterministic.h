/* SPDX-License-Identifier: MIT */
/*
 * deterministic.h - what differs from run to run and machine to machine (CPU, addresses,
 * clocks), fixed by --deterministic, --aslr and --clock-start
 *
 * These are no walls: a program that wants to differ from run to run can. But the program
 * starts only if the kernel confirms what was asked for (posture_file.c). The
 * interpreter, told by its environment, fixes what lies within Python:
 * rootfs/python/deterministic.py, rootfs/interpreter/clock.c.
 */
#pragma once

#include "jail/plan/plan.h"

/**
 * deterministic_clock() - Give the children made from here on clocks that start now, at
 * zero
 * @p:		Nothing is done unless the plan asks for it, nor for a template: each
 *		clone of it makes clocks of its own
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
 * deterministic_cpu() - Stay on the present CPU, if the plan says so
 *
 * All sessions would share the first CPU if that were chosen.
 *
 * Return: 0 or -errno of sched_setaffinity(2)
 */
int deterministic_cpu(const struct plan *p, struct err *e);
