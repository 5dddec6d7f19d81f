/* SPDX-License-Identifier: MIT */
/*
 * supervisor.h - the half of `serve` that reads what jails and the client say
 */
#pragma once

#include "jail/base/tree.h"
#include "jail/plan/plan.h"
#include "jail/watch/confine.h"

/* the supervisor's root directory, a procfs: no other fd is one that a path is opened
 * below */
#define SUPERVISOR_ROOT 9

/**
 * supervisor_serve() - Serve the client on fd 0 until it is gone, or the spawner says so
 * @p:		Of all sessions
 * @root:	Their root tree, for its digest
 * @spawner:	Socket to the spawner, see spawn.h; taken, whatever this returns
 * @told:	What the kernel tells of this process; told to the client with each jail
 *
 * All signals must be blocked.
 *
 * Return: exit status, or -errno
 */
int supervisor_serve(const struct plan *p, const struct tree *root, int spawner,
		     const struct confinement *told, struct err *e);
