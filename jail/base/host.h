/* SPDX-License-Identifier: MIT */
/*
 * host.h - what stepjail needs of its host, and words for what a host refuses
 *
 * The commands run and check both take their words from here.
 */
#pragma once

#include "init/err.h"

/**
 * host_check() - Has the kernel each system call, and is /proc this PID namespace's own?
 *
 * To be called before anything is started: through the /proc of another PID namespace the
 * launcher would write the id maps of another process.
 *
 * Return: 0, -ENOSYS (a system call is missing, or refused by a seccomp filter), -ENOENT
 * (no procfs at /proc), -ESRCH (that of another PID namespace), -EROFS, or -EMFILE
 */
int host_check(struct err *e);

/**
 * host_check_cpus() - Has this host the last CPU of a list such as 0-1,3?
 * @list:	NULL: all
 *
 * Return: 0, or -EINVAL
 */
int host_check_cpus(const char *list, struct err *e);

/**
 * host_hint() - Add to an error a possible cause on this host, and what mends it
 * @e:		Left as it is unless it ends in errno's words
 */
void host_hint(struct err *e);

/**
 * host_refused_clone() - Say why new namespaces could not be made, and what mends it
 * @errnum:	The errno that it failed with
 *
 * Return: -@errnum
 */
int host_refused_clone(int errnum, struct err *e);

/**
 * host_refused_capability() - Say why a new user namespace gives no capability
 *
 * AppArmor's restriction lets the namespace be made, and refuses capabilities in it.
 *
 * Return: -EPERM
 */
int host_refused_capability(struct err *e);

/**
 * host_names() - Add the names of files to a list of words, for an error
 * @pattern:	As glob(3) has it
 * @names:	A string; each name is added behind a blank, up to its first dot
 */
void host_names(const char *pattern, char *names, size_t size);
