/* SPDX-License-Identifier: MIT */
/*
 * wipe.c - zero memory that a clone shares with its template: see wipe.h
 */
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "jail/base/wipe.h"

/* volatile: otherwise the compiler leaves out stores that nobody reads */
static void zero(volatile unsigned char *from, const volatile unsigned char *end)
{
	for (; from < end; from++)
		if (*from)
			*from = 0;
}

void wipe(void *at, size_t bytes)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	unsigned char *begin = at, *end = begin + bytes;
	unsigned char *first = begin + (-(uintptr_t)begin & (page - 1));
	unsigned char *last = end - ((uintptr_t)end & (page - 1));

	if (first >= last || madvise(first, (size_t)(last - first), MADV_DONTNEED) < 0)
		first = last = end;
	zero(begin, first);
	zero(last, end);
}
