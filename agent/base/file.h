/* SPDX-License-Identifier: MIT */
/*
 * file.h - files of the user's, opened and read whole
 */
#ifndef STEPJAIL_AGENT_FILE_H
#define STEPJAIL_AGENT_FILE_H

#include "agent/base/text.h"
#include "init/err.h"

/**
 * file_open() - Open a regular file to read it; of a pipe or a device nobody waits for bytes
 * @option:	Begins an error, "--check-file: "; may be ""
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

#endif
