/* SPDX-License-Identifier: MIT */
/*
 * pipe_file.h - --file of a pipe: read once, before anything runs, and kept for each new
 * jail
 *
 * What cannot be read twice, or be mounted, is copied into a file without a name. A jail
 * gets it by PUT: in /work, for /work/in belongs to what is mounted there.
 */
#ifndef STEPJAIL_AGENT_PIPE_FILE_H
#define STEPJAIL_AGENT_PIPE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/base/stop.h"
#include "init/err.h"

/**
 * pipe_file_is_stream() - Whether a path names what is read as it comes: -, /dev/stdin,
 * /dev/fd/N, a pipe, a socket or a device
 * @name:	Gets what the jail will call it: "stdin", "fd63", or its last part; 256 bytes
 */
bool pipe_file_is_stream(const char *path, char *name);

/**
 * pipe_file_take() - Read it to its end
 * @limit_bytes: More than that is an error
 *
 * Return: an fd to read it from, at its beginning, or -errno with a line that names it;
 * -EINTR where a signal came
 */
int pipe_file_take(const char *path, uint64_t limit_bytes, struct stop *stop,
		   struct err *e);

#endif
