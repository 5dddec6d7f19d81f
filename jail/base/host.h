/* SPDX-License-Identifier: MIT */
/*
 * host.h - what the launcher needs of its host first, and words for what a host refuses
 *
 * run and check take their words from here, so that they cannot disagree.
 */
#ifndef STEPJAIL_JAIL_BASE_HOST_H
#define STEPJAIL_JAIL_BASE_HOST_H

#include "init/err.h"

/**
 * host_check() - Has the kernel each system call, and is /proc this PID namespace's own?
 *
 * To be called before anything is started: through a /proc of another PID namespace, or
 * through files that only look like one, the launcher would write to somebody else.
 *
 * Return: 0, -ENOSYS (a system call is missing, or refused by a seccomp filter), -ENOENT
 * (no procfs at /proc), -ESRCH (that of another PID namespace), -EROFS, or -EMFILE
 */
int host_check(struct err *e);

/**
 * host_hint() - Add to an error what on this host may be its cause, and what mends that
 * @e:		Left as it is unless it ends in errno's words
 */
void host_hint(struct err *e);

/**
 * host_refused_clone() - Say why clone3(2) with new namespaces failed, and what mends it
 * @errnum:	What it failed with
 *
 * Return: -@errnum
 */
int host_refused_clone(int errnum, struct err *e);

/**
 * host_refused_capability() - Say why a new user namespace gives no capability
 *
 * AppArmor's restriction lets the namespace be made, and then refuses their use in it.
 *
 * Return: -EPERM
 */
int host_refused_capability(struct err *e);

#endif
