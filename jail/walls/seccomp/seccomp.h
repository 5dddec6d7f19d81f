/* SPDX-License-Identifier: MIT */
/*
 * seccomp.h - the program's filter, and the listener for its violations
 */
#pragma once

#include "jail/walls/seccomp/denied_without.h"

/**
 * seccomp_install() - Put the plan's filter on the calling process, for good
 * @lacks:	Which other walls are missing, see denied_without_lacks()
 * @key:	Gets the number that execve(2) must have as its fourth argument, if the
 *		plan locks code. NULL lets no execve through, for a program that runs
 *		already
 * @listener:	Gets a close-on-exec fd that is told of violations; -1 where the kernel
 *		gives none, because a surrounding filter has one, and the plan says that
 *		it may be missing: violations then fail unheard
 *
 * Allocates nothing. no_new_privs must be set. See seccomp(2), seccomp_unotify(2).
 *
 * Return: 0, or -errno
 */
int seccomp_install(const struct plan *p, unsigned int lacks, uint64_t *key,
		    int *listener, struct err *e);

/**
 * seccomp_allow_code() - Write the instructions for the calls that the plan allows
 * @code:	Room for ALLOW_CODE_MAX
 *
 * Return: how many there are, 0 for a plan that allows nothing more
 */
size_t seccomp_allow_code(const struct plan *p, struct sock_filter *code);

#define ALLOW_CODE_MAX (3 + 5 * PLAN_CALLS_MAX)
