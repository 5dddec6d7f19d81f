/* SPDX-License-Identifier: MIT */
/*
 * look.c - a path looked at before it is opened: see look.h
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "agent/base/look.h"
#include "init/io.h"

int look_open(int folder, const char *path, int flags, struct stat *st)
{
	cleanup_fd int there = openat(folder, path, O_PATH | O_CLOEXEC | flags);
	char name[32];
	int fd;

	*st = (struct stat){ 0 };
	if (there < 0 || fstat(there, st) < 0)
		return -errno;
	if (!S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode))
		return -EINVAL;
	(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", there);
	fd = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}
