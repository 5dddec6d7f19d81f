/* SPDX-License-Identifier: MIT */
/*
 * clock.h - the clock of all deadlines; what a process has used
 */
#pragma once

#include <stdint.h>
#include <time.h>

/** clock_now_ms() - CLOCK_MONOTONIC in milliseconds, see clock_gettime(2) */
uint64_t clock_now_ms(void);

/** clock_us() - Any clock in microseconds; 0 where there is none, or not any more */
uint64_t clock_us(clockid_t clock);
