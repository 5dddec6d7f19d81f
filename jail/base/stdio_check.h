/* SPDX-License-Identifier: MIT */
/*
 * stdio_check.h - may a jail's program have this stdin, stdout or stderr?
 */
#pragma once

#include "init/err.h"

/**
 * stdio_check() - Refuse fds of the caller's that lead further than to their own bytes
 *
 * Of fds 0, 1 and 2: regular files, devices, pipes and sockets are passed on. Refused are
 * folders and O_PATH fds, which lead out of the jail's tree; what has no type, such as a
 * pidfd; and files on no file system that can be mounted, such as a memfd: Landlock takes
 * no rule for these, and lets /proc/self/fd open them again, for writing as well.
 *
 * Return: 0, -EBADF, or -errno
 */
int stdio_check(struct err *e);
