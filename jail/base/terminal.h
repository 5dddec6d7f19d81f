/* SPDX-License-Identifier: MIT */
/*
 * terminal.h - terminals for somebody else
 */
#pragma once

#include "init/err.h"

/**
 * terminal_offer() - Make a terminal, and send its master to whoever listens at a path
 * @path:	Of a unix socket; the packet has the slave's path as its bytes
 * @slave:	Gets the other end, close-on-exec, the caller's; nobody's controlling
 *		terminal
 *
 * See pty(7), and OCI's runtime specification for `--console-socket`.
 *
 * Return: 0, or -errno, where @slave may be open, too
 */
int terminal_offer(const char *path, int *slave, struct err *e);
