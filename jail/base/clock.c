/* SPDX-License-Identifier: MIT */
/*
 * clock.c - the clock of all deadlines: see clock.h
 */
#include "jail/base/clock.h"

uint64_t clock_now_ms(void)
{
	return clock_us(CLOCK_MONOTONIC) / 1000;
}

uint64_t clock_us(clockid_t clock)
{
	struct timespec t = { 0 };

	(void)clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}
