/* SPDX-License-Identifier: MIT */
/*
 * value.c - numbers with units: see value.h
 */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jail/plan/value.h"

struct unit {
	const char *name;
	uint64_t thousandths; /* of the kind's smallest unit */
};

/* Each list: the first row is what a bare number means; printing takes the largest. */
static const struct unit sizes[] = {
	{ "", 1000 },
	{ "K", 1000ULL << 10 },
	{ "M", 1000ULL << 20 },
	{ "G", 1000ULL << 30 },
	{ "T", 1000ULL << 40 },
	{ "KiB", 1000ULL << 10 },
	{ "MiB", 1000ULL << 20 },
	{ "GiB", 1000ULL << 30 },
	{ "TiB", 1000ULL << 40 },
	{ NULL, 0 },
};
static const struct unit times[] = {
	{ "", 1000000 },   { "ms", 1000 },      { "s", 1000000 },
	{ "m", 60000000 }, { "h", 3600000000 }, { NULL, 0 },
};
static const struct unit counts[] = { { "", 1000 }, { NULL, 0 } };
static const struct unit cpus[] = { { "", 1000000 }, { NULL, 0 } };

static const struct {
	const struct unit *units;
	const char *form;
} kinds[] = {
	[VALUE_SIZE] = { sizes, "a size such as 65536, 64K, 256M or 1.5G" },
	[VALUE_TIME] = { times, "a time such as 250ms, 2s, 10m or 1h" },
	[VALUE_COUNT] = { counts, "a whole number" },
	[VALUE_CPUS] = { cpus, "a number of CPUs such as 2 or 0.25" },
};

/* digits, and up to three more behind a point: the number in thousandths */
static int parse_thousandths(const char **at, unsigned __int128 *out)
{
	const unsigned __int128 most = (unsigned __int128)UINT64_MAX * 1000;
	unsigned __int128 n = 0;
	int decimals = -1; /* -1 until the point */

	if (**at < '0' || **at > '9')
		return -EINVAL;
	for (; (**at >= '0' && **at <= '9') || (**at == '.' && decimals < 0); (*at)++) {
		if (**at == '.') {
			decimals = 0;
			continue;
		}
		if (decimals >= 0 && ++decimals > 3)
			return -EINVAL;
		n = n * 10 + (unsigned int)(**at - '0');
		if (n > most)
			return -ERANGE;
	}
	if (decimals == 0)
		return -EINVAL;
	for (int i = decimals < 0 ? 0 : decimals; i < 3; i++)
		n *= 10;
	*out = n;
	return n > most ? -ERANGE : 0;
}

int value_parse(enum value_kind kind, const char *text, uint64_t *value, struct err *e)
{
	const struct unit *unit = kinds[kind].units;
	const char *at = text;
	unsigned __int128 n = 0;
	int r = parse_thousandths(&at, &n);

	if (r == -ERANGE)
		return err_say(e, ERANGE, "'%s' is too large", text);
	while (unit->name && strcmp(unit->name, at) != 0)
		unit++;
	if (r < 0 || !unit->name)
		return err_say(e, EINVAL, "'%s' is not %s", text, kinds[kind].form);

	/* thousandths times thousandths: 128 bits hold any product of 74 and 50 */
	unsigned __int128 all = n * unit->thousandths;

	if (all % 1000000)
		return err_say(e, EINVAL, "'%s' is not %s", text, kinds[kind].form);
	/* UINT64_MAX itself stands for "no limit" */
	if (all / 1000000 >= UINT64_MAX)
		return err_say(e, ERANGE, "'%s' is too large", text);
	*value = (uint64_t)(all / 1000000);
	return 0;
}

const char *value_print(enum value_kind kind, uint64_t value, char *text)
{
	const struct unit *best = NULL;

	if (kind == VALUE_CPUS && value % 1000) {
		(void)snprintf(text, VALUE_TEXT_MAX, "%" PRIu64 ".%03" PRIu64,
			       value / 1000, value % 1000);
		return text;
	}
	for (const struct unit *u = kinds[kind].units; u->name; u++) {
		uint64_t whole = u->thousandths / 1000;

		if (value % whole)
			continue;
		if (!best || u->thousandths > best->thousandths ||
		    (u->thousandths == best->thousandths && !best->name[0]))
			best = u;
	}
	if (!best) /* a count has no unit, so only CPUs' fractions come past all rows */
		best = kinds[kind].units;
	(void)snprintf(text, VALUE_TEXT_MAX, "%" PRIu64 "%s",
		       value / (best->thousandths / 1000), value ? best->name : "");
	return text;
}

#define CPUS_MAX 1024

/* one "3" or "0-1", none of it below @next; NULL if it is none */
static const char *take_range(const char *at, long next, long *last)
{
	char *end;
	long first;

	/* no sign and no blank, which strtol(3) would take */
	if (*at < '0' || *at > '9')
		return NULL;
	first = *last = strtol(at, &end, 10);
	if (*end == '-') {
		if (end[1] < '1' || end[1] > '9')
			return NULL;
		*last = strtol(end + 1, &end, 10);
		if (*last <= first)
			return NULL;
	}
	return first < next || *last >= CPUS_MAX ? NULL : end;
}

int value_check_cpus(const char *text, struct err *e)
{
	long next = 0, last = 0;

	for (const char *at = text; (at = take_range(at, next, &last)); at++) {
		if (!*at)
			return 0;
		if (*at != ',')
			break;
		/* the kernel writes neighbours as one range */
		next = last + 2;
	}
	return err_say(e, EINVAL,
		       "'%s' is not a list of CPUs such as 0-1,3: in order, in as few "
		       "parts as can be, up to %d",
		       text, CPUS_MAX - 1);
}

int value_check_modules(const char *value, struct err *e)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";

	for (const char *at = value;; at++) {
		size_t n = strspn(at, letters);

		if (n == 0 || (at[n] && at[n] != ','))
			return err_say(e, EINVAL,
				       "'%s' must be names of modules with a comma "
				       "between them",
				       value);
		at += n;
		if (!*at)
			return 0;
	}
}
