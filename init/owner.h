/* SPDX-License-Identifier: MIT */
/*
 * owner.h - files that say what is run, and files with a secret: whose they are
 *
 * Nobody but the caller and root may have written the first, or be able to read the
 * second. Each function is called before a byte of the file is read, so that no error
 * quotes one.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "init/err.h"

/**
 * owner_check() - Is an open file the caller's or root's?
 * @others:	Rights that the group and all others must not have: 022, or 077 of a
 *		secret
 * @path:	Names it in an error
 *
 * Return: 0, -EPERM, or -errno of fstat(2)
 */
int owner_check(int fd, mode_t others, const char *path, struct err *e);

/**
 * owner_secret() - Open a file with a secret, which may be a pipe with a number
 * @option:	Begins an error, as in "--key-file: "
 *
 * A link is refused, but those of /dev/fd and /proc: what it leads to is somebody's
 * choice.
 *
 * Return: an fd with FD_CLOEXEC, -EPERM, -ELOOP, or -errno of open(2)
 */
int owner_secret(const char *path, const char *option, struct err *e);

/**
 * owner_way() - Are the folders and links on the way to a file the caller's or root's?
 * @from:	Bytes of the path that are not looked into: $HOME, which is looked at as a
 *		whole
 *
 * Another user's folder may hold a link to any file of root's.
 *
 * Return: 0, also where there is no such file, or -EPERM
 */
int owner_way(const char *path, size_t from, struct err *e);
