/* SPDX-License-Identifier: MIT */
/*
 * clock.c - the clock of all deadlines: see clock.h
 */
#include <time.h>

#include "jail/base/clock.h"

uint64_t clock_now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}
