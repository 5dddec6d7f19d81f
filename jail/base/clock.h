/* SPDX-License-Identifier: MIT */
/*
 * clock.h - the clock of all deadlines
 */
#ifndef STEPJAIL_JAIL_BASE_CLOCK_H
#define STEPJAIL_JAIL_BASE_CLOCK_H

#include <stdint.h>

/** clock_now_ms() - CLOCK_MONOTONIC in milliseconds, see clock_gettime(2) */
uint64_t clock_now_ms(void);

#endif
