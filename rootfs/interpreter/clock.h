/* SPDX-License-Identifier: MIT */
/*
 * clock.h - a wall clock that starts at a given instant, for Python and what is linked to
 * it
 */
#pragma once

/**
 * clock_begin() - From now on, $STEPJAIL_CLOCK_START is what the wall clock started at
 *
 * Where it is set (seconds since 1970; by --clock-start). Any number of times.
 */
void clock_begin(void);
