/* SPDX-License-Identifier: MIT */
/*
 * sys.h - system calls that a libc may not wrap yet
 *
 * stepjail is linked with musl, the unit tests with glibc; both see the same names, which
 * are those of the manual pages in section 2.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/openat2.h>
#include <linux/sched.h>

#ifndef FSOPEN_CLOEXEC

#include <linux/mount.h>

static inline int fsopen(const char *type, unsigned int flags)
{
	return (int)syscall(SYS_fsopen, type, flags);
}

static inline int fsconfig(int fd, unsigned int command, const char *key,
			   const void *value, int aux)
{
	return (int)syscall(SYS_fsconfig, fd, command, key, value, aux);
}

static inline int fsmount(int fd, unsigned int flags, unsigned int attr)
{
	return (int)syscall(SYS_fsmount, fd, flags, attr);
}

static inline int move_mount(int from, const char *from_path, int to, const char *to_path,
			     unsigned int flags)
{
	return (int)syscall(SYS_move_mount, from, from_path, to, to_path, flags);
}

static inline int open_tree(int dir, const char *path, unsigned int flags)
{
	return (int)syscall(SYS_open_tree, dir, path, flags);
}

static inline int mount_setattr(int dir, const char *path, unsigned int flags,
				struct mount_attr *attr, size_t size)
{
	return (int)syscall(SYS_mount_setattr, dir, path, flags, attr, size);
}

#endif

/* a close-on-exec fd, or -errno */
static inline int sys_openat2(int dir, const char *path, uint64_t flags, uint64_t resolve)
{
	struct open_how how = { .flags = flags | O_CLOEXEC,
				.mode = flags & O_CREAT ? 0666 : 0,
				.resolve = resolve };
	long fd = syscall(SYS_openat2, dir, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

/* A fork(2) by clone3(2), with CLONE_ flags, and into the cgroup leaf unless it is -1.
 * @pidfd: gets a pidfd, unless it is NULL. The pid, 0 in the child, or -errno */
static inline pid_t sys_clone3(uint64_t flags, int leaf, int *pidfd)
{
	struct clone_args args = {
		.flags = flags | (pidfd ? CLONE_PIDFD : 0) |
			 (leaf >= 0 ? CLONE_INTO_CGROUP : 0),
		.pidfd = (uint64_t)(uintptr_t)pidfd,
		.exit_signal = SIGCHLD,
		.cgroup = leaf >= 0 ? (unsigned int)leaf : 0,
	};
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	return pid < 0 ? -errno : (pid_t)pid;
}

/* nobody changes a memfd any more, not its size either: fcntl(2). 0, or -errno */
static inline int sys_seal(int memfd)
{
	return fcntl(memfd, F_ADD_SEALS,
		     F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0
		       ? -errno
		       : 0;
}

#ifndef CLOSE_RANGE_CLOEXEC

#include <linux/close_range.h>

static inline int close_range(unsigned int first, unsigned int last, int flags)
{
	return (int)syscall(SYS_close_range, first, last, flags);
}

#endif
