/* SPDX-License-Identifier: MIT */
/*
 * tmpfs_usage.c - is a tmpfs of the jail full at its end? See tmpfs_usage.h
 */
#include <sys/vfs.h>

#include <linux/magic.h>

#include "init/io.h"
#include "jail/base/procfs.h"
#include "jail/out/tmpfs_usage.h"

struct tmpfs_usage tmpfs_usage_open(pid_t init)
{
	const int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW;

	/* the jail made both mounts itself, and no symlink was followed then */
	return (struct tmpfs_usage){ procfs_open_place(init, "/root/work", flags),
				     procfs_open_place(init, "/root/tmp", flags) };
}

/* Return: 1, 0, or -1 where it is not known */
static int is_full(int fd)
{
	struct statfs fs;

	if (fd < 0 || fstatfs(fd, &fs) < 0)
		return -1;
	/* a bind in its place is a file system of the host's: not the jail's to fill */
	return fs.f_type == TMPFS_MAGIC && fs.f_blocks > 0 &&
	       (fs.f_bfree == 0 || fs.f_ffree == 0);
}

int tmpfs_usage_full(const struct tmpfs_usage *r)
{
	int work = is_full(r->work), tmp = is_full(r->tmp);

	if (work < 0 || tmp < 0)
		return -1;
	return (work ? TMPFS_USAGE_WORK : 0) | (tmp ? TMPFS_USAGE_TMP : 0);
}

void tmpfs_usage_close(struct tmpfs_usage *r)
{
	io_close_fd(&r->work);
	io_close_fd(&r->tmp);
}
