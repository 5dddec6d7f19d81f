/* SPDX-License-Identifier: MIT */
/*
 * close_others.c - close all fds of a process but a few: see close_others.h
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "jail/base/close_others.h"
#include "jail/base/sys.h"

static int by_number(const void *a, const void *b)
{
	int x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return (x > y) - (x < y);
}

int close_others(const int *keep, size_t count)
{
	int sorted[CLOSE_OTHERS_MAX];
	int next = 3;

	if (count > CLOSE_OTHERS_MAX)
		return -E2BIG;
	for (size_t i = 0; i < count; i++)
		sorted[i] = keep[i];
	qsort(sorted, count, sizeof(*sorted), by_number);
	for (size_t i = 0; i < count; i++) {
		if (sorted[i] > next &&
		    close_range((unsigned int)next, (unsigned int)sorted[i] - 1, 0) < 0)
			return -errno;
		if (sorted[i] >= next)
			next = sorted[i] + 1;
	}
	if (close_range((unsigned int)next, ~0U, 0) < 0)
		return -errno;
	return 0;
}
