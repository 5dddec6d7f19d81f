/* SPDX-License-Identifier: MIT */
/*
 * list.c - a folder of a jail: see list.h
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/session/list.h"

int list_next(const struct text *list, size_t *at, struct list_entry *entry)
{
	const char *line = text_string(list) + *at;
	char *end = NULL;
	uint64_t size_bytes;
	const char *name;

	if (*at >= list->length)
		return 0;
	*at += strlen(line) + 1;
	size_bytes = line[0] && line[1] == ' ' ? strtoull(line + 2, &end, 10) : 0;
	name = end && end != line + 2 && *end == ' ' ? strchr(end + 1, ' ') : NULL;
	if (!name)
		return -EBADMSG;
	*entry = (struct list_entry){ line[0], size_bytes, name + 1 };
	return 1;
}
