/* SPDX-License-Identifier: MIT */
/*
 * peek.h - the first line of a stranger's transcript, read by a process that can do
 * nothing
 *
 * What a transcript's jails are made with must be known before this process confines
 * itself, for the broker is forked with it. So a child reads the file first: it confines
 * itself as `verify` does, checks all of it, and hands back the first line, no more as
 * JSON but as values that need no parser: each a byte for its type, and lengths in front
 * of texts.
 */
#ifndef STEPJAIL_AGENT_PEEK_H
#define STEPJAIL_AGENT_PEEK_H

#include <cjson/cJSON.h>
#include <stddef.h>

#include "agent/base/stop.h"
#include "agent/base/text.h"

#define PEEK_BYTES_MAX ((size_t)16 << 20)
#define PEEK_VALUES_MAX 100000
#define PEEK_DEPTH_MAX 16

/**
 * peek_start() - The start line of a transcript that fits
 * @fd:		Of the transcript; its offset moves
 * @path:	As the user gave it
 * @start:	Gets the line, for the caller to free; NULL where there is no whole line
 *
 * Return: 0, -EBADMSG (it was changed; or the child makes no sense), -EINTR, or -errno
 */
int peek_start(int fd, const char *path, struct stop *stop, cJSON **start, struct err *e);

/** peek_pack() - Add a value, and what is in it */
void peek_pack(const cJSON *value, struct text *out);

/** peek_unpack() - The value in these bytes, for the caller to free; NULL where it is
 * none */
cJSON *peek_unpack(const char *bytes, size_t length);

#endif
