/* SPDX-License-Identifier: MIT */
/*
 * measure.h - what takes rights to see of a process of a jail
 */
#ifndef STEPJAIL_JAIL_SERVE_SPAWNER_MEASURE_H
#define STEPJAIL_JAIL_SERVE_SPAWNER_MEASURE_H

#include <stdint.h>
#include <sys/types.h>

#include "jail/serve/spawn.h"

/* what a measurer writes, once */
struct measured {
	uint64_t bytes, cost_us; /* as struct spawn_answer has them */
	uint64_t errnum;
};

/**
 * measure() - Read it; may wait for the process
 * @dir:	Its folder, from procfs_open()
 * @pid:	Its number, for SPAWN_MEMORY, which looks at those below it as well
 * @value:	Gets it
 *
 * Return: 0, or -errno
 */
int measure(enum spawn_measure kind, int dir, pid_t pid, uint64_t *value);

/**
 * measure_run() - Be a measurer, in a child of the spawner's; never returns
 * @parent:	The spawner
 * @out:	Gets a struct measured
 */
_Noreturn void measure_run(pid_t parent, enum spawn_measure kind, int dir, pid_t pid,
			   int out);

#endif
