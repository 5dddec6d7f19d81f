/* SPDX-License-Identifier: MIT */
/*
 * landlock.h - a second wall behind the mounts
 */
#ifndef STEPJAIL_JAIL_LANDLOCK_H
#define STEPJAIL_JAIL_LANDLOCK_H

#include "init/err.h"
#include "jail/plan.h"

/**
 * landlock_abi() - Which Landlock ABI the running kernel offers
 *
 * Return: 1 or more, or 0 where there is none
 */
int landlock_abi(void);

/**
 * landlock_restrict() - Confine the calling thread to the jail's own places
 * @p:		Writable binds are places to write to
 *
 * Reading and executing everywhere below the jail's root; writing below /work, /tmp,
 * /dev/shm and writable binds; the six device nodes; stdin, stdout and stderr with the
 * access they were opened with, so that an inherited fd cannot be reopened through /proc
 * for more. TCP only where the plan has a loopback. no_new_privs must be set.
 * Kernel: Documentation/userspace-api/landlock.rst
 *
 * Return: 0 (also where the kernel has no Landlock), or -errno
 */
int landlock_restrict(const struct plan *p, struct err *e);

#endif
