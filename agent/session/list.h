/* SPDX-License-Identifier: MIT */
/*
 * list.h - a folder of a jail, as session_get_text() gives it: "KIND SIZE MTIME NAME" and
 * a NUL for each entry (init/serve_wire.h)
 *
 * Names are the jail's own words: any bytes but NUL and slash.
 */
#ifndef STEPJAIL_AGENT_LIST_H
#define STEPJAIL_AGENT_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "agent/base/text.h"

struct list_entry {
	char kind; /* as ls(1) has it: '-' a file, 'd' a folder, 'l' a link */
	uint64_t size_bytes;
	const char *name; /* points into the listing */
};

/**
 * list_next() - The next entry of a listing
 * @at:		Where it begins, 0 for the first; moved behind it
 *
 * Return: 1, 0 behind the last, or -EBADMSG: it is no entry, and @entry is not filled
 */
int list_next(const struct text *list, size_t *at, struct list_entry *entry);

#endif
