/* SPDX-License-Identifier: MIT */
/*
 * measure.h - what takes rights to see of a process of a jail
 */
#pragma once

#include "jail/serve/wire/spawn.h"
#include "jail/watch/confine.h"

/* what a measurer writes, once */
struct measured {
	uint64_t bytes, cost_us; /* as struct spawn_answer has them */
	uint64_t errnum;
};

/**
 * measure() - Read it; may wait for the process, and leaves an fd open
 * @dir:	Its folder in a procfs
 * @pid:	Its number, for SPAWN_MEMORY, which looks at those below it as well
 * @lock:	Called before a byte of a jail's choice is read: measure_lock()
 * @value:	Gets it
 *
 * Return: 0, or -errno
 */
int measure(enum spawn_measure kind, int dir, pid_t pid, int (*lock)(bool opens),
	    uint64_t *value);

/**
 * measure_confine() - The walls of a measurer, see measure.c; as measure_run() has them
 *
 * Return: 0, or -errno
 */
int measure_confine(const struct confine *by, pid_t parent, int dir, int out);

/**
 * measure_lock() - The last wall: only read(2), write(2) and _exit(2) are left
 * @opens:	Files are still to be opened: a filter allows that, and memory
 *
 * Return: 0, or -errno
 */
int measure_lock(bool opens);

/**
 * measure_run() - Be a measurer, in a child of the spawner's; never returns
 * @by:		Its id and its root directory
 * @parent:	The spawner
 * @out:	Gets a struct measured
 */
_Noreturn void measure_run(const struct confine *by, pid_t parent,
			   enum spawn_measure kind, int dir, pid_t pid, int out);
