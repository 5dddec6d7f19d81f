/* SPDX-License-Identifier: MIT */
/*
 * plan_deterministic.c - what --deterministic and --clock-start add to a plan: see plan.h
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "jail/plan/plan.h"

#define TEXT_MAX 48
#define LAST 7258118399ULL /* second of the year 2199 */

/* Has the text digits where the form has 0, and is it the same everywhere else? */
static bool looks_like(const char *text, const char *form)
{
	for (; *form; text++, form++)
		if (*form == '0' ? *text < '0' || *text > '9' : *text != *form)
			return false;
	return *text == '\0';
}

int timestamp_parse(const char *text, uint64_t *seconds, struct err *e)
{
	struct tm day = { .tm_mday = 0 };
	size_t digits = strspn(text, "0123456789");

	if (digits > 0 && text[digits] == '\0') {
		*seconds = digits > 10 ? UINT64_MAX : strtoull(text, NULL, 10);
	} else if (looks_like(text, "0000-00-00") ||
		   looks_like(text, "0000-00-00T00:00:00Z")) {
		const char *form = text[10] ? "%Y-%m-%dT%H:%M:%SZ" : "%Y-%m-%d";
		const char *end = strptime(text, form, &day);
		struct tm same = day;
		time_t t = timegm(&same);

		/* timegm(3) turns a day or second that does not exist into another one */
		if (!end || same.tm_mday != day.tm_mday || same.tm_sec != day.tm_sec)
			return err_say(e, EINVAL, "'%s' is not in the calendar", text);
		*seconds = t < 0 ? UINT64_MAX : (uint64_t)t;
	} else {
		return err_say(
			e, EINVAL,
			"'%s' must be of the form 2024-02-29T12:00:00Z, 2024-02-29, or seconds since 1970",
			text);
	}
	if (*seconds > LAST)
		return err_say(e, ERANGE, "'%s' is not between 1970 and 2199", text);
	return 0;
}

int plan_check_clock_start(const char *text, struct err *e)
{
	uint64_t seconds;

	return timestamp_parse(text, &seconds, e);
}

static int set_variable(struct plan *p, const char *option, const char *text,
			struct err *e)
{
	size_t key = strcspn(text, "=") + 1;

	for (size_t i = 0; i < p->env_count; i++) {
		if (strncmp(p->env[i], text, key) != 0)
			continue;
		if (strcmp(p->env[i], text) == 0)
			return 0;
		return err_say(e, EINVAL, "--%s: sets %s: leave out --env %.64s", option,
			       text, p->env[i]);
	}
	return plan_add_env(p, text, e);
}

int plan_complete_deterministic(struct plan *p, struct err *e)
{
	static char hash[TEXT_MAX], seed[TEXT_MAX], start[TEXT_MAX];
	const char *const rows[] = { hash, seed, "LANG=C.UTF-8", "LC_ALL=C.UTF-8",
				     "TZ=UTC" };
	uint64_t seconds = 0;
	int r = 0;

	if (p->deterministic != ANSWER_YES && p->limit[LIMIT_SEED] != NO_LIMIT &&
	    p->limit[LIMIT_SEED] != 0)
		return err_say(e, EINVAL, "seed: has no effect without --deterministic");
	(void)snprintf(hash, sizeof(hash), "PYTHONHASHSEED=%" PRIu64,
		       p->limit[LIMIT_SEED]);
	(void)snprintf(seed, sizeof(seed), "STEPJAIL_DETERMINISTIC=%" PRIu64,
		       p->limit[LIMIT_SEED]);
	for (size_t i = 0; p->deterministic == ANSWER_YES && r == 0 && i < COUNT(rows);
	     i++)
		r = set_variable(p, "deterministic", rows[i], e);
	if (r < 0 || !p->clock_start)
		return r;
	r = timestamp_parse(p->clock_start, &seconds, e);
	(void)snprintf(start, sizeof(start), "STEPJAIL_CLOCK_START=%" PRIu64, seconds);
	return r < 0 ? r : set_variable(p, "clock-start", start, e);
}
