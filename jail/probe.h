/* SPDX-License-Identifier: MIT */
/*
 * probe.h - try one thing that a jail needs, in a child process of its own
 */
#ifndef STEPJAIL_JAIL_PROBE_H
#define STEPJAIL_JAIL_PROBE_H

#include <sched.h>

#include "init/err.h"

/** probe_user_namespace() - Make one, and use a capability in it; 0 or -errno */
int probe_user_namespace(void);

/** probe_namespace() - Make a user namespace and one of the kind of @flag; 0 or -errno */
int probe_namespace(unsigned long flag);

/** probe_mount() - Make a detached mount of file system @type there; 0 or -errno */
int probe_mount(const char *type);

/**
 * probe_jail() - Start a whole jail on the core tree, up to the exec of its program
 *
 * Return: 0, or -errno with the line that run would print
 */
int probe_jail(struct err *e);

#endif
