/* SPDX-License-Identifier: MIT */
/*
 * look.h - a path of the user's or of a transcript, looked at before it is opened
 */
#ifndef STEPJAIL_AGENT_LOOK_H
#define STEPJAIL_AGENT_LOOK_H

#include <sys/stat.h>

/**
 * look_open() - Open a regular file or a folder for reading, and nothing else
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
int look_open(int folder, const char *path, int flags, struct stat *st);

#endif
