/* SPDX-License-Identifier: MIT */
/*
 * attach.h - the stream to a `stepjail serve` that a stepjail-mcp keeps warm
 */
#pragma once

#include "init/err.h"

/**
 * attach_open() - Connect to a stepjail-mcp, and have the stream to such a process
 * @path:	Its socket, of --listen
 * @options:	Words of that `stepjail serve`, NULL at the end
 *
 * The server must be of this user or of root; to root, of anyone. An answer is waited for
 * ten seconds.
 *
 * Return: an fd that carries frames (init/serve_wire.h), or -errno
 */
int attach_open(const char *path, char *const *options, struct err *e);
