/* SPDX-License-Identifier: MIT */
/*
 * file.h - files of the user's, or of a transcript, looked at, opened, read whole
 */
#pragma once

#include <sys/stat.h>

#include "agent/base/text.h"

/**
 * file_look() - Open a regular file or a folder for reading, and nothing else
 * @folder:	What @path is relative to; AT_FDCWD for none
 * @flags:	O_NOFOLLOW, or 0
 * @st:		Gets what is there, also where it is not opened
 *
 * A FIFO or a device is never opened: that may wait, wake a writer, rewind a tape. So
 * the path becomes an O_PATH fd, fstat(2) tells what that is, and the same file is then
 * opened by its name in /proc/self/fd, whatever has the path by now.
 *
 * Return: fd (O_NONBLOCK, for some files of the kernel's wait), -EINVAL for what is
 * neither, or -errno
 */
int file_look(int folder, const char *path, int flags, struct stat *st);

#define FILE_LACKS " (the agent gives up root's rights to what is not root's)"

/**
 * file_look_at() - The same of a path of the user's
 * @option:	Begins an error that names it, "--check-file: "; may be ""
 */
int file_look_at(const char *path, const char *option, struct stat *st, struct err *e);

/**
 * file_open() - Open a regular file to read it; of a pipe or a device nobody waits for
 * bytes
 * @option:	As above
 *
 * Return: an fd, or -errno with a line that names the file
 */
int file_open(const char *path, const char *option, struct err *e);

/**
 * file_read() - Add all bytes of a file, which may be a pipe
 * @option:	As above
 * @into:	Its @max is the most that the file may have
 *
 * Return: 0, or -errno with a line that names the file; -E2BIG
 */
int file_read(const char *path, const char *option, struct text *into, struct err *e);

/** file_read_fd() - The same of one that is open */
int file_read_fd(int fd, const char *path, const char *option, struct text *into,
		 struct err *e);
