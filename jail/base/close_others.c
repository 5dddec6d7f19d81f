/* SPDX-License-Identifier: MIT */
/*
 * close_others.c - close all fds of a process but a few: see close_others.h
 */

#include "jail/base/close_others.h"
#include "jail/base/sys.h"

/* the lowest fd from @first on that is kept, or -1 as a number beyond all fds */
static unsigned int find_next(const int *keep, size_t count, int also, int first)
{
	unsigned int next = also < first ? ~0U : (unsigned int)also;

	for (size_t i = 0; i < count; i++)
		if (keep[i] >= first && (unsigned int)keep[i] < next)
			next = (unsigned int)keep[i];
	return next;
}

int close_others(const int *keep, size_t count, int also)
{
	unsigned int first = 3, next;

	do {
		next = find_next(keep, count, also, (int)first);
		if (next > first && close_range(first, next - 1, 0) < 0)
			return -errno;
		first = next + 1;
	} while (first);
	return 0;
}
