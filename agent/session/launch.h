/* SPDX-License-Identifier: MIT */
/*
 * launch.h - start stepjail, and see it end
 *
 * The agent reaches a jail only by argv, three fds and an exit status. The child gets an
 * empty environment, a session of its own, no fd but those, and dies with the agent
 * (PR_SET_PDEATHSIG); init and all of the jail die with it.
 */
#pragma once

#include <sys/types.h>

#include "agent/cli/options.h"

#define LAUNCH_ARGS_MAX 1024
#define LAUNCH_FDS 3

struct launch_args {
	char *list[LAUNCH_ARGS_MAX + 1]; /* NULL at the end */
	size_t count;
	int failed; /* 0, or E2BIG: an argument was not added */
};

struct child {
	pid_t pid; /* 0 when there is none */
	int pidfd; /* readable once it has ended */
};

/** launch_add() - Add a formatted argument; one too many is remembered in @failed */
void launch_add(struct launch_args *a, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/** launch_args_free() - Free every argument; for the cleanup attribute */
void launch_args_free(struct launch_args *a);

#define cleanup_args __attribute__((cleanup(launch_args_free)))

/**
 * launch_find() - Where stepjail is: --stepjail, else beside this program
 * @given:	From the option, or NULL
 * @path:	Gets the path
 *
 * Return: 0, or -errno of access(2) with a line that says where it was looked for
 */
int launch_find(const char *given, struct text *path, struct err *e);

/**
 * launch_become() - In a new process: become stepjail, inheriting nothing but @fds
 * @parent:	Dies with it; is its parent already
 * @status_fd:	Gets errno, an int, where that fails; else it is closed by execve(2)
 */
__attribute__((noreturn)) void launch_become(const char *path, char *const *argv,
					     const int fds[LAUNCH_FDS],
					     const struct stop *stop, pid_t parent,
					     int status_fd);

/**
 * launch_end() - Wait for a child, and end it where it does not end by itself
 * @patience_ms: How long to wait before SIGTERM; after as long again, at least a second,
 *		SIGKILL
 *
 * Return: the wait status, or -ECHILD where there is no child
 */
int launch_end(struct child *c, uint64_t patience_ms);
