/* SPDX-License-Identifier: MIT */
/*
 * command.h - the commands of stepjail-oci, and what engines say on their command lines
 */
#pragma once

#include "jail/oci/bundle.h"
#include "jail/oci/container.h"

enum option_id {
	OPTION_NONE, /* of what engines say, and what means nothing here */
	OPTION_ROOT,
	OPTION_LOG,
	OPTION_VERSION,
	OPTION_BUNDLE,
	OPTION_PID_FILE,
	OPTION_CONSOLE_SOCKET,
	OPTION_PRESERVE_FDS,
	OPTION_FORMAT,
	OPTION_ALL,
	OPTION_FORCE,
	OPTION_PROCESS,
	OPTION_DETACH,
	OPTION_STATS,
	OPTION_COUNT
};

struct call {
	const char
		*option[OPTION_COUNT]; /* its value, "" if it has none; NULL: not given */
	const char *name, *id;
	char *const *words; /* what comes behind it, and a NULL */
};

/** container_running() - As container_open(), of one that has not ended; or -ESRCH */
int container_running(struct container *box, const struct call *c, struct err *e);

/**
 * container_leaf() - The same of one that has a cgroup leaf of its own; or -ENOENT
 * @leaf:	Gets its path, of at most @size bytes
 */
int container_leaf(struct container *box, const struct call *c, char *leaf, size_t size,
		   struct err *e);

/**
 * console_open() - Make a terminal, if a bundle has one
 * @path:	Of the socket that gets its master; or NULL
 * @slave:	Gets the other end, for stdin, stdout and stderr
 *
 * Return: 0, -EINVAL (one is asked for, and no socket is there, or the other way round),
 * or -errno
 */
int console_open(const struct bundle *b, const char *path, int *slave, struct err *e);

/* Each returns 0, or -errno */
int command_create(const struct call *c, struct err *e);
int command_start(const struct call *c, struct err *e);
int command_state(const struct call *c, struct err *e);
int command_kill(const struct call *c, struct err *e);
int command_delete(const struct call *c, struct err *e);
int command_ps(const struct call *c, struct err *e);
int command_freeze(const struct call *c, struct err *e); /* pause, resume */
int command_exec(const struct call *c, struct err *e);
int command_events(const struct call *c, struct err *e);
int command_explain(const struct call *c, struct err *e);
