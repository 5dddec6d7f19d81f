/* SPDX-License-Identifier: MIT */
/*
 * units.h - clocks, and times and counts as people write them
 */
#pragma once

#include <stdint.h>

/** units_now_ms() - CLOCK_MONOTONIC in milliseconds */
uint64_t units_now_ms(void);

/** units_left_ms() - Milliseconds until a moment of units_now_ms()'s clock, 0 when past
 */
uint64_t units_left_ms(uint64_t deadline_ms);

/** units_poll_ms() - The same as poll(2) takes it: rounded up, within an int */
int units_poll_ms(uint64_t deadline_ms);

/**
 * units_parse_count() - A plain decimal number, digits only
 *
 * Return: 0, -EINVAL (empty, a sign, anything but digits) or -ERANGE (over 64 bits)
 */
int units_parse_count(const char *text, uint64_t *value);

/**
 * units_parse_time() - A time as stepjail's options have it: 2 (seconds), 250ms, 1.5s,
 * 10m, 2h; and days: 30d
 *
 * Return: 0, -EINVAL (junk, another unit, a fraction of a millisecond) or -ERANGE
 */
int units_parse_time(const char *text, uint64_t *ms);

/**
 * units_parse_size() - Bytes as stepjail's options have them: 4096, 64K, 1M, 2G
 *
 * Return: 0, -EINVAL or -ERANGE
 */
int units_parse_size(const char *text, uint64_t *bytes);

/**
 * units_parse_money() - Dollars such as 5 or 0.25, at most 1000000, into 10^12 times that
 *
 * Return: 0, or -EINVAL (junk, more than 12 digits behind the point, nothing, too much)
 */
int units_parse_money(const char *text, uint64_t *pico);

/* for people: by value, so that a line that is printed needs no room for it */
struct said {
	char text[40];
};

/** units_say_count() - Write a number */
struct said units_say_count(uint64_t n);

/** units_say_things() - Write "1 step", "2 steps"; @noun is one of them */
struct said units_say_things(uint64_t n, const char *noun);

/** units_say_size() - Write "900 bytes", "64 KiB", "1.5 MiB" */
struct said units_say_size(uint64_t bytes);

/** units_say_money() - Write "$0.0123" */
struct said units_say_money(uint64_t pico);

/** units_say_time() - Write "250 ms", "60 s", "10 min": no precision that nobody asked
 * for */
struct said units_say_time(uint64_t ms);

#define UNITS_UTC_BYTES 32

/** units_now_utc() - Write the time to the millisecond into UNITS_UTC_BYTES; @form is
 * strftime(3)'s up to the seconds, @behind stands before the milliseconds */
void units_now_utc(const char *form, const char *behind, char *text);
