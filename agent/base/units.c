/* SPDX-License-Identifier: MIT */
/*
 * units.c - clocks, times and counts: see units.h
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "agent/base/units.h"

#define DIGITS "0123456789"
#define DOLLAR 1000000000000 /* in 10^-12 of them */

/* a table of these ends with a row without a name */
struct unit {
	const char *name;
	uint64_t worth;
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

/* a number, with at most @places digits behind its point, and a unit behind it */
static int parse(const char *text, const struct unit *units, size_t places,
		 uint64_t *value)
{
	size_t whole = strspn(text, DIGITS);
	const char *unit = text + whole;
	size_t part = *unit == '.' ? strspn(unit + 1, DIGITS) : 0;
	uint64_t number = 0,
		 scale = 1; /* what the digits behind the point are parts of */

	if (!whole || part > places || (*unit == '.' && !part))
		return -EINVAL;
	unit += part ? part + 1 : 0;
	for (const char *at = text; at < unit; at++) {
		if (*at == '.')
			continue;
		if (__builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(*at - '0'), &number))
			return -ERANGE;
		scale *= at > text + whole ? 10 : 1;
	}
	while (units->name && strcmp(unit, units->name) != 0)
		units++;

	unsigned __int128 product = (unsigned __int128)number * units->worth;

	if (!units->name || product % scale)
		return -EINVAL;
	if (product / scale > UINT64_MAX)
		return -ERANGE;
	*value = (uint64_t)(product / scale);
	return 0;
}

int units_parse_count(const char *text, uint64_t *value)
{
	return parse(text, (const struct unit[]){ { "", 1 }, { NULL, 0 } }, 0, value);
}

int units_parse_time(const char *text, uint64_t *ms)
{
	static const struct unit times[] = {
		{ "", 1000 },     { "ms", 1 },       { "s", 1000 }, { "m", 60000 },
		{ "h", 3600000 }, { "d", 86400000 }, { NULL, 0 },
	};

	return parse(text, times, 6, ms);
}

int units_parse_size(const char *text, uint64_t *bytes)
{
	static const struct unit sizes[] = {
		{ "", 1 },           { "K", 1ULL << 10 }, { "M", 1ULL << 20 },
		{ "G", 1ULL << 30 }, { "T", 1ULL << 40 }, { NULL, 0 },
	};

	return parse(text, sizes, 6, bytes);
}

int units_parse_money(const char *text, uint64_t *pico)
{
	static const struct unit dollars[] = { { "", DOLLAR }, { NULL, 0 } };

	int r = parse(text, dollars, 12, pico);

	return r == 0 && *pico && *pico <= (uint64_t)1000000 * DOLLAR ? 0 : -EINVAL;
}

__attribute__((format(printf, 1, 2))) static struct said say(const char *fmt, ...)
{
	struct said out;
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(out.text, sizeof(out.text), fmt, ap);
	va_end(ap);
	return out;
}

struct said units_say_count(uint64_t n)
{
	return say("%" PRIu64, n);
}

struct said units_say_things(uint64_t n, const char *noun)
{
	return say("%" PRIu64 " %s%s", n, noun, n == 1 ? "" : "s");
}

struct said units_say_size(uint64_t bytes)
{
	static const char *const names[] = { "bytes", "KiB", "MiB", "GiB", "TiB" };
	size_t unit = 0;
	char tenths[] = ".0";

	while (bytes >= 1024 && unit + 1 < sizeof(names) / sizeof(names[0])) {
		tenths[1] = (char)('0' + bytes % 1024 * 10 / 1024);
		bytes /= 1024;
		unit++;
	}
	return say("%" PRIu64 "%s %s", bytes, tenths[1] > '0' ? tenths : "", names[unit]);
}

struct said units_say_money(uint64_t pico)
{
	/* a hundredth of a cent, and all digits of what is less than a cent */
	int digits = 12, most = pico >= DOLLAR / 100 ? 4 : 12;
	uint64_t rest = pico % DOLLAR;

	for (; digits > most || (digits > 4 && rest % 10 == 0); digits--)
		rest /= 10;
	return say("$%" PRIu64 ".%0*" PRIu64, pico / DOLLAR, digits, rest);
}

struct said units_say_time(uint64_t ms)
{
	if (ms >= 120000 && ms % 60000 == 0)
		return say("%" PRIu64 " min", ms / 60000);
	if (ms >= 10000 || (ms && ms % 1000 == 0))
		return say("%" PRIu64 " s", (ms + 500) / 1000);
	if (ms >= 1000)
		return say("%" PRIu64 ".%" PRIu64 " s", ms / 1000, ms % 1000 / 100);
	return say("%" PRIu64 " ms", ms);
}

void units_now_utc(const char *form, const char *behind, char *text)
{
	struct timespec now;
	struct tm utc;

	(void)clock_gettime(CLOCK_REALTIME, &now);

	size_t n = gmtime_r(&now.tv_sec, &utc)
			   ? strftime(text, UNITS_UTC_BYTES, form, &utc)
			   : 0;

	(void)snprintf(text + n, UNITS_UTC_BYTES - n, "%s%03ldZ", behind,
		       now.tv_nsec / 1000000);
}
