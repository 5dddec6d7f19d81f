/* SPDX-License-Identifier: MIT */
/*
 * proc.c - files of one process in /proc: see proc.h
 */
#include <fcntl.h>
#include <stdio.h>

#include "init/io.h"
#include "jail/proc.h"

#define PATH_BYTES 128 /* the callers' own names: the longest is task/PID/children */

static void name_file(char *path, pid_t pid, const char *file)
{
	(void)snprintf(path, PATH_BYTES, "/proc/%d/%s", pid, file);
}

ssize_t proc_read(pid_t pid, const char *file, char *text, size_t size)
{
	char path[PATH_BYTES];

	name_file(path, pid, file);
	return io_read_file_at(AT_FDCWD, path, text, size);
}

int proc_write(pid_t pid, const char *file, const char *text)
{
	char path[PATH_BYTES];

	name_file(path, pid, file);
	return io_write_file_at(AT_FDCWD, path, text);
}
