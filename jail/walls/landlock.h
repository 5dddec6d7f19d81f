/* SPDX-License-Identifier: MIT */
/*
 * landlock.h - a second wall behind the mounts
 */
#pragma once

#include <linux/landlock.h>

#include "jail/plan/plan.h"

#define LANDLOCK_TRUNCATE (1ULL << 14)  /* LANDLOCK_ACCESS_FS_TRUNCATE, ABI 3 */
#define LANDLOCK_IOCTL_DEV (1ULL << 15) /* LANDLOCK_ACCESS_FS_IOCTL_DEV, ABI 5 */

/**
 * landlock_abi() - Which Landlock ABI the running kernel offers
 *
 * Return: 1 or more; 0 where Landlock is not built in or not enabled; or -errno, where
 * the kernel could not be asked: it may then have Landlock
 */
int landlock_abi(struct err *e);

/* what a host without it can do */
#define LANDLOCK_REMEDY "boot with lsm=landlock,..."

/**
 * landlock_restrict() - Confine the calling thread to the jail's own places
 * @p:		Writable binds are places to write to
 * @abi:	From landlock_abi(), which the launcher calls once: rules and report speak
 *		of the same ABI
 *
 * The rows of places.h say what is allowed there. stdin, stdout and stderr are allowed
 * with the access they were opened with, so that an inherited fd cannot be reopened
 * through /proc for more. TCP only where the plan has a loopback. no_new_privs must be
 * set. The places' fds are left open, for the caller to close them together.
 * Kernel: Documentation/userspace-api/landlock.rst
 *
 * Return: 0 (also where @abi is 0 and the plan does not require it), or -errno
 */
int landlock_restrict(const struct plan *p, int abi, struct err *e);

/**
 * landlock_close() - Confine the calling thread to no path at all, and try whether it
 * holds
 * @abi:	1 or more
 * @rules:	What is allowed all the same, below folders
 *
 * No TCP either, and no signal or abstract socket to processes outside, as far as the ABI
 * knows them. What is open stays as it is. no_new_privs must be set.
 *
 * Return: 0, or -errno; -EPERM where the root directory can still be read
 */
int landlock_close(int abi, const struct landlock_path_beneath_attr *rules, size_t count,
		   struct err *e);

/**
 * landlock_try() - Have Landlock refuse something to the calling thread
 *
 * The kernel tells nobody who is confined, so a refusal is the read-back: of a device
 * node in /dev/shm, a place that is writable in every jail. Landlock says EACCES before
 * the missing capability says EPERM. (Not a node 0:0, which takes no capability: newer
 * kernels hold such whiteouts for regular files.) Nothing is left there.
 *
 * Return: 0, or -EPERM; @e tells what happened instead
 */
int landlock_try(struct err *e);
