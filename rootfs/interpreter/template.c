/* SPDX-License-Identifier: MIT */
/*
 * template.c - an interpreter that warm jails are cloned from: see jail/walls/warm.h
 *
 * What a clone must have done before and after is Python's own: PyOS_BeforeFork() once,
 * for all of them, because the template runs no Python again. It holds the import lock
 * from there on, which PyOS_AfterFork_Child() makes anew in each clone.
 */
#include <unistd.h>

#include "jail/walls/warm.h"
#include "rootfs/interpreter/fork.h"
#include "rootfs/interpreter/maps.h"
#include "rootfs/interpreter/python.h"
#include "rootfs/interpreter/state.h"

int template_wait(int channel)
{
	struct err e;
	int r;

	maps_join();
	/* here for all clones; state 0 says why it cannot be */
	(void)fork_prepare(&e);
	PyOS_BeforeFork();
	r = warm_serve(channel, &e);
	if (r != 1)
		_exit(r < 0);
	PyOS_AfterFork_Child();
	return STDIN_FILENO;
}
