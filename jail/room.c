/* SPDX-License-Identifier: MIT */
/*
 * room.c - is a tmpfs of the jail full at its end? See room.h
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>
#include <linux/openat2.h>

#include "init/io.h"
#include "jail/room.h"

static int open_beneath(int root, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};

	return (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
}

struct room room_open(pid_t init)
{
	cleanup_fd int root = -1;
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/%d/root", init);
	root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return ROOM_NONE;
	return (struct room){ open_beneath(root, "work"), open_beneath(root, "tmp") };
}

static bool is_full(int fd)
{
	struct statfs fs;

	/* a bind in its place is a file system of the host's: not the jail's to fill */
	return fstatfs(fd, &fs) == 0 && fs.f_type == TMPFS_MAGIC && fs.f_blocks > 0 &&
	       (fs.f_bfree == 0 || fs.f_ffree == 0);
}

int room_full(const struct room *r)
{
	if (r->work < 0 || r->tmp < 0)
		return -1;
	return (is_full(r->work) ? ROOM_WORK : 0) | (is_full(r->tmp) ? ROOM_TMP : 0);
}

void room_close(struct room *r)
{
	io_close_fd(&r->work);
	io_close_fd(&r->tmp);
}
