/* SPDX-License-Identifier: MIT */
/*
 * shipped.h - files that come with stepjail: init, the escape corpus, the root trees
 *
 * They are looked for beside the running executable, as in a build folder, and then where
 * `make install` puts them, relative to it: ../lib/stepjail.
 */
#pragma once

#include <stddef.h>

#include "init/err.h"

/**
 * shipped_program() - Open one of them, such as stepjail-init
 * @path:	Gets where it is
 *
 * Refused, as a root tree of that place is, if anyone but root and the caller could have
 * changed it or its folder.
 *
 * Return: an O_PATH fd that belongs to the caller, or -errno
 */
int shipped_program(const char *name, char *path, size_t size, struct err *e);

/**
 * shipped_root() - Turn --rootfs into a folder's path
 * @given:	A name without '/', or a path
 * @path:	Gets at most @size bytes
 *
 * Return: 0, or -errno; the line names what trees there are or how to build one
 */
int shipped_root(const char *given, char *path, size_t size, struct err *e);
