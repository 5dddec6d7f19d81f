/* SPDX-License-Identifier: MIT */
/*
 * spawner.h - the privileged half of `serve`: it launches jails, signals and ends them
 */
#pragma once

#include "jail/launch/launch.h"
#include "jail/watch/confine.h"

/**
 * spawner_serve() - Serve a supervisor until it ends, and then end every jail
 * @parts:	From launch_find(), of the plan of all sessions
 * @template:	The interpreter's words as a template, NULL at the end; kept
 * @socket:	To the supervisor, see spawn.h; taken, whatever this returns
 * @signals:	From cancel_open(); likewise
 * @supervisor:	A child of the caller's. Waited for; killed where it breaks the rules
 * @measurer:	The id of measurers, and a procfs that is their root directory; kept
 *
 * All signals must be blocked.
 *
 * Return: the supervisor's exit status, or -errno
 */
int spawner_serve(struct parts *parts, char *const *template, int socket, int signals,
		  pid_t supervisor, const struct confine *measurer, struct err *e);
