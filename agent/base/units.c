/* SPDX-License-Identifier: MIT */
/*
 * units.c - clocks, times and counts: see units.h
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "agent/base/units.h"

static const struct {
	const char *name;
	uint64_t ms;
} time_units[] = {
	{ "", 1000 },   { "ms", 1 },      { "s", 1000 },
	{ "m", 60000 }, { "h", 3600000 }, { "d", 86400000 },
};

uint64_t units_now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail for this clock */
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

uint64_t units_left_ms(uint64_t deadline_ms)
{
	uint64_t now = units_now_ms();

	return deadline_ms > now ? deadline_ms - now : 0;
}

int units_poll_ms(uint64_t deadline_ms)
{
	uint64_t left = units_left_ms(deadline_ms);

	return left > INT_MAX ? INT_MAX : (int)left;
}

/* digits from *text on; moves it behind them */
static int take_digits(const char **text, uint64_t *value)
{
	const char *at = *text;

	if (*at < '0' || *at > '9')
		return -EINVAL;
	*value = 0;
	for (; *at >= '0' && *at <= '9'; at++)
		if (__builtin_mul_overflow(*value, 10, value) ||
		    __builtin_add_overflow(*value, (uint64_t)(*at - '0'), value))
			return -ERANGE;
	*text = at;
	return 0;
}

int units_parse_count(const char *text, uint64_t *value)
{
	int r = take_digits(&text, value);

	if (r < 0)
		return r;
	return *text ? -EINVAL : 0;
}

int units_parse_time(const char *text, uint64_t *ms)
{
	uint64_t number;
	uint64_t scale = 1; /* what the digits behind the point are parts of */
	int r = take_digits(&text, &number);

	if (r < 0)
		return r;
	if (*text == '.') {
		for (text++; *text >= '0' && *text <= '9'; text++, scale *= 10)
			if (scale == 1000 ||
			    __builtin_mul_overflow(number, 10, &number) ||
			    __builtin_add_overflow(number, (uint64_t)(*text - '0'),
						   &number))
				return -EINVAL;
		if (scale == 1)
			return -EINVAL;
	}
	for (size_t i = 0; i < sizeof(time_units) / sizeof(time_units[0]); i++) {
		uint64_t product;

		if (strcmp(text, time_units[i].name) != 0)
			continue;
		if (__builtin_mul_overflow(number, time_units[i].ms, &product))
			return -ERANGE;
		if (product % scale)
			return -EINVAL;
		*ms = product / scale;
		return 0;
	}
	return -EINVAL;
}

int units_parse_size(const char *text, uint64_t *bytes)
{
	static const char units[] = "KMGT";
	uint64_t number;
	int r = take_digits(&text, &number);
	const char *unit = *text ? strchr(units, *text) : NULL;

	if (r < 0)
		return r;
	if (*text && (!unit || text[1]))
		return -EINVAL;
	for (const char *at = units; unit && at <= unit; at++)
		if (__builtin_mul_overflow(number, 1024, &number))
			return -ERANGE;
	*bytes = number;
	return 0;
}

int units_parse_money(const char *text, uint64_t *pico)
{
	const uint64_t dollar = 1000000000000;
	uint64_t whole, part = 0, scale = dollar;
	int r = take_digits(&text, &whole);

	if (r < 0)
		return r;
	if (*text == '.') {
		if (text[1] < '0' || text[1] > '9')
			return -EINVAL;
		for (text++; *text >= '0' && *text <= '9' && scale > 1; text++) {
			scale /= 10;
			part += (uint64_t)(*text - '0') * scale;
		}
	}
	if (*text)
		return -EINVAL;
	if (whole > 1000000)
		return -ERANGE;
	*pico = whole * dollar + part;
	return *pico ? 0 : -EINVAL;
}

const char *units_say_size(uint64_t bytes, char *out, size_t size)
{
	static const char *const names[] = { "bytes", "KiB", "MiB", "GiB", "TiB" };
	size_t unit = 0;
	uint64_t tenths = 0;

	while (bytes >= 1024 && unit + 1 < sizeof(names) / sizeof(names[0])) {
		tenths = bytes % 1024 * 10 / 1024;
		bytes /= 1024;
		unit++;
	}
	if (tenths)
		(void)snprintf(out, size, "%" PRIu64 ".%" PRIu64 " %s", bytes, tenths,
			       names[unit]);
	else
		(void)snprintf(out, size, "%" PRIu64 " %s", bytes, names[unit]);
	return out;
}

const char *units_say_money(uint64_t pico, char *out, size_t size)
{
	(void)snprintf(out, size, "$%" PRIu64 ".%04" PRIu64, pico / 1000000000000,
		       pico % 1000000000000 / 100000000);
	return out;
}

const char *units_say_time(uint64_t ms, char *out, size_t size)
{
	if (ms >= 120000 && ms % 60000 == 0)
		(void)snprintf(out, size, "%" PRIu64 " min", ms / 60000);
	else if (ms >= 1000 && ms % 1000 == 0)
		(void)snprintf(out, size, "%" PRIu64 " s", ms / 1000);
	else if (ms >= 10000)
		(void)snprintf(out, size, "%" PRIu64 " s", (ms + 500) / 1000);
	else if (ms >= 1000)
		(void)snprintf(out, size, "%" PRIu64 ".%" PRIu64 " s", ms / 1000,
			       ms % 1000 / 100);
	else
		(void)snprintf(out, size, "%" PRIu64 " ms", ms);
	return out;
}
