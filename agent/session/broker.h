/* SPDX-License-Identifier: MIT */
/*
 * broker.h - the one process beside a confined agent: it starts stepjail, and nothing
 * else
 *
 * A confined agent can make no process, and what it made would be confined as it is,
 * which no stepjail could make a jail in. So before it is confined it forks this one,
 * whose program and command line are fixed there and then. A request is one byte; no
 * path, no argument and no number of the agent's is ever taken. The stream to a
 * stepjail is made here: that is one more call that the confined agent need not make. A
 * folder that was made for files of the agent, which it may not remove itself, goes with
 * this process if nothing was put into it.
 *
 * The stepjail is the agent's own child (CLONE_PARENT): it is waited for, and dies with
 * the agent, as if the agent had started it.
 */
#pragma once

#include "agent/session/launch.h"

struct broker {
	pid_t pid; /* 0 for none */
	int socket;
	const char *path;   /* what it executes */
	const char *server; /* in its place, the socket of a stepjail-mcp; or NULL */
	const char *tidy;   /* a folder that it removes at its end, if empty; or NULL */
	const struct launch_args *args; /* with what; looked at by the broker alone */
	const struct stop *stop;
	pid_t agent; /* whose children it starts */
};

#define BROKER_NONE ((struct broker){ .socket = -1 })

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
 * broker_start() - Have a stepjail started, or be attached to one of a server's
 * @stream:	Gets our end of its fd 0, which does not block; -1 on failure
 * @diag:	Gets that of its fds 1 and 2, which does not block; or -1
 * @c:		Its @pid is 0 on failure, and where it is a server's
 *
 * Return: 0, or -errno of fork(2), pidfd_open(2), the child's execve(2) or connect(2);
 * -EPERM with a server's words; -EPIPE where the broker is gone
 */
int broker_start(const struct broker *b, int *stream, int *diag, struct child *c,
		 struct err *e);

/** broker_close() - End it; what it started goes on. Safe on BROKER_NONE */
void broker_close(struct broker *b);
