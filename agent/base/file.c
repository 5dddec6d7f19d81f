/* SPDX-License-Identifier: MIT */
/*
 * file.c - files of the user's, opened and read whole: see file.h
 */
#include <stdio.h>

#include "agent/base/file.h"
#include "init/io.h"

int file_look(int folder, const char *path, int flags, struct stat *st)
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

int file_look_at(const char *path, const char *option, struct stat *st, struct err *e)
{
	int fd = file_look(AT_FDCWD, path, 0, st);

	if (fd == -EINVAL)
		return err_say(e, EINVAL, "%s%s is not a regular file", option, path);
	if (fd >= 0)
		return fd;

	int lacks = !geteuid() && access(path, R_OK) < 0 && errno == EACCES;

	return err_set(e, -fd, "%s%s%s", option, path, lacks ? FILE_LACKS : "");
}

int file_open(const char *path, const char *option, struct err *e)
{
	struct stat st;
	cleanup_fd int fd = file_look_at(path, option, &st, e);

	if (fd >= 0 && S_ISDIR(st.st_mode))
		return err_say(e, EINVAL, "%s%s is not a regular file", option, path);
	return io_steal_fd(&fd);
}

int file_read(const char *path, const char *option, struct text *into, struct err *e)
{
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? err_set(e, errno, "%s%s", option, path)
		      : file_read_fd(fd, path, option, into, e);
}

int file_read_fd(int fd, const char *path, const char *option, struct text *into,
		 struct err *e)
{
	char piece[16384];
	ssize_t n = -1;

	while (!into->failed && (n = io_read_all(fd, piece, sizeof(piece))) > 0)
		text_add(into, piece, (size_t)n);
	if (n < 0)
		return err_set(e, (int)-n, "%s%s", option, path);

	int r = text_check(into, path, e);

	return r < 0 ? err_within(e, "%s", option) : 0;
}
