/* SPDX-License-Identifier: MIT */
/*
 * proc.c - files of one process in /proc: see proc.h
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>
#include <linux/openat2.h>

#include "init/io.h"
#include "jail/proc.h"

/* beneath the kernel's own procfs: no symlink, and nothing that is mounted over it */
static int open_process(pid_t pid)
{
	cleanup_fd int top = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
	};
	struct statfs fs;
	char name[16];

	if (top < 0 || fstatfs(top, &fs) < 0)
		return -errno;
	if (fs.f_type != PROC_SUPER_MAGIC)
		return -EXDEV;
	(void)snprintf(name, sizeof(name), "%d", pid);

	long fd = syscall(SYS_openat2, top, name, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

ssize_t proc_read(pid_t pid, const char *file, char *text, size_t size)
{
	cleanup_fd int process = open_process(pid);

	return process < 0 ? process : io_read_file_at(process, file, text, size);
}

int proc_write(pid_t pid, const char *file, const char *text)
{
	cleanup_fd int process = open_process(pid);

	return process < 0 ? process : io_write_file_at(process, file, text);
}
