/* SPDX-License-Identifier: MIT */
/*
 * broker.h - the one process beside a confined agent: it starts stepjail, and nothing
 * else
 *
 * A confined agent can make no process, and what it made would be confined as it is,
 * which no stepjail could make a jail in. So before it is confined it forks this one,
 * whose program and command lines are fixed there and then. A request is one byte, which
 * says by which of them, and the fds that a stepjail is to have; no path, no argument and
 * no number of the agent's is ever taken. Without an fd 0, it makes a socketpair: that is
 * one more call that the confined agent need not make. A folder that was made for files
 * of the agent, which it may not remove itself, goes with this process if nothing was put
 * into it.
 *
 * The stepjail is the agent's own child (CLONE_PARENT): it is waited for, and dies with
 * the agent, as if the agent had started it.
 */
#ifndef STEPJAIL_AGENT_BROKER_H
#define STEPJAIL_AGENT_BROKER_H

#include "agent/base/stop.h"
#include "agent/session/launch.h"
#include "init/err.h"

#define BROKER_MORE 4 /* command lines beside the first */

struct broker {
	pid_t pid; /* 0 for none */
	int socket;
	const char *path; /* what it executes, for words */
	const char *tidy; /* a folder that it removes at its end, if empty; or NULL */
	const struct launch_args *more[BROKER_MORE];
	size_t more_count;
};

#define BROKER_NONE ((struct broker){ .socket = -1 })

/**
 * broker_add() - Have a further command line, of the same program
 * @b:		BROKER_NONE, to be opened
 * @args:	Stays valid until then
 *
 * Return: what broker_start_line() is told; or -E2BIG
 */
int broker_add(struct broker *b, const struct launch_args *args, struct err *e);

/**
 * broker_open() - Fork it
 * @path:	What it executes, with @args, each time; stays valid
 *
 * Should be called before the agent is confined. It forgets the keys of the environment,
 * and is given no other. It ends with the agent.
 *
 * Return: 0, or -errno
 */
int broker_open(struct broker *b, const char *path, const struct launch_args *args,
		const struct stop *stop, struct err *e);

/**
 * broker_start_line() - Have a stepjail started
 * @line:	0 for that of broker_open(), else what broker_add() returned
 * @fds:	Become its fds 0, 1, 2 and 3 (LAUNCH_REPORT_FD); stay open here. The last
 *		may be -1: then it has only three
 * @c:		Filled on success only
 *
 * Return: 0, or -errno of fork(2), pidfd_open(2) or the child's execve(2); -EPIPE where
 * the broker is gone
 */
int broker_start_line(const struct broker *b, int line, const int fds[LAUNCH_FDS],
		      struct child *c, struct err *e);

/**
 * broker_start_stream() - The same by line 0, with a stream as fd 0
 * @out:	Becomes its fds 1 and 2; stays open here
 * @socket:	Gets our end of the stream, which does not block; on success only
 */
int broker_start_stream(const struct broker *b, int out, int *socket, struct child *c,
			struct err *e);

/** broker_close() - End it; what it started goes on. Safe on BROKER_NONE */
void broker_close(struct broker *b);

#endif
