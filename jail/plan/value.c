/* SPDX-License-Identifier: MIT */
/*
 * value.c - numbers with units: see value.h
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "jail/plan/plan.h"
#include "jail/plan/value.h"

/* Printing takes the first unit that divides the number. */
static const struct unit {
	enum value_kind kind;
	const char *name;
	uint64_t worth; /* in the kind's smallest unit */
} units[] = {
	{ VALUE_SIZE, "T", 1ULL << 40 }, { VALUE_SIZE, "G", 1ULL << 30 },
	{ VALUE_SIZE, "M", 1ULL << 20 }, { VALUE_SIZE, "K", 1ULL << 10 },
	{ VALUE_SIZE, "", 1 },           { VALUE_TIME, "h", 3600000 },
	{ VALUE_TIME, "m", 60000 },      { VALUE_TIME, "s", 1000 },
	{ VALUE_TIME, "", 1000 },        { VALUE_TIME, "ms", 1 },
	{ VALUE_COUNT, "", 1 },          { VALUE_CPUS, "", 1000 },
};

static const char *const forms[] = {
	[VALUE_SIZE] = "a size such as 65536, 64K, 256M or 1.5G, of whole bytes",
	[VALUE_TIME] = "a time such as 250ms, 1.5s, 10m or 1h, of whole milliseconds",
	[VALUE_COUNT] = "a whole number",
	[VALUE_CPUS] = "a number of CPUs such as 2 or 0.25, of whole thousandths",
};

static const char digits[] = "0123456789";

/* digits, and up to six more behind a point: the number in millionths */
static int parse_millionths(const char *text, char **end, unsigned __int128 *out)
{
	unsigned int millionths = 0;

	/* no sign and no blank, which strtoull(3) would take */
	if (!strspn(text, digits))
		return -EINVAL;
	errno = 0;
	*out = strtoull(text, end, 10);
	if (errno == ERANGE)
		return -ERANGE;
	if (**end == '.') {
		size_t n = strspn(*end + 1, digits);

		if (n == 0 || n > 6)
			return -EINVAL;
		for (size_t i = 1; i <= 6; i++)
			millionths = millionths * 10 +
				     (i <= n ? (unsigned int)((*end)[i] - '0') : 0);
		*end += 1 + n;
	}
	*out = *out * 1000000 + millionths;
	return 0;
}

/* sizes as people write them: 256M, 256m, 256MB and 256MiB are the same */
static bool is_unit(const struct unit *unit, const char *text)
{
	size_t n = strlen(unit->name);

	if (unit->kind != VALUE_SIZE || strncasecmp(unit->name, text, n) != 0)
		return strcmp(unit->name, text) == 0;
	text += n;
	return !*text || strcasecmp(text, "B") == 0 || (n && strcasecmp(text, "iB") == 0);
}

int value_parse(enum value_kind kind, const char *text, uint64_t *value, struct err *e)
{
	char *end;
	unsigned __int128 n = 0, scale = 0;
	int r = parse_millionths(text, &end, &n);

	if (r == -ERANGE)
		return err_say(e, ERANGE, "'%s' is too large", text);
	for (size_t i = 0; r == 0 && i < COUNT(units); i++)
		if (units[i].kind == kind && is_unit(&units[i], end))
			scale = units[i].worth;
	/* 84 bits times 41: this cannot overflow */
	n *= scale;
	if (scale == 0 || n % 1000000)
		return err_say(e, EINVAL, "'%s' is not %s", text, forms[kind]);
	/* UINT64_MAX itself stands for "no limit" */
	if (n / 1000000 >= UINT64_MAX)
		return err_say(e, ERANGE, "'%s' is too large", text);
	*value = (uint64_t)(n / 1000000);
	return 0;
}

const char *value_print(enum value_kind kind, uint64_t value, char *text)
{
	const struct unit *unit = units;

	if (value == NO_LIMIT)
		return "unlimited";
	if (kind == VALUE_CPUS && value % 1000) {
		(void)snprintf(text, VALUE_TEXT_MAX, "%" PRIu64 ".%03" PRIu64,
			       value / 1000, value % 1000);
		return text;
	}
	while (unit->kind != kind || value % unit->worth)
		unit++;
	(void)snprintf(text, VALUE_TEXT_MAX, "%" PRIu64 "%s", value / unit->worth,
		       value ? unit->name : "");
	return text;
}

#define CPUS_MAX 1024

/* Take one "3" or "0-1" with no number below @next. Return: the text behind it, or NULL */
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
	return err_say(
		e, EINVAL,
		"'%s' is not a list of CPUs such as 0-1,3: in order, in as few parts as can be, up to %d",
		text, CPUS_MAX - 1);
}

int value_check_modules(const char *value, struct err *e)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";

	for (const char *at = value;; at++) {
		size_t n = strspn(at, letters);

		if (n == 0 || (at[n] && at[n] != ','))
			return err_say(
				e, EINVAL,
				"'%s' must be names of modules with a comma between them",
				value);
		at += n;
		if (!*at)
			return 0;
	}
}
