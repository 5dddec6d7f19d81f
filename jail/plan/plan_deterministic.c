/* SPDX-License-Identifier: MIT */
/*
 * plan_deterministic.c - what --deterministic and --clock-start add to a plan: see plan.h
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "jail/plan/plan.h"
#include "jail/plan/timestamp.h"

#define TEXT_MAX 48

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
		return err_say(e, EINVAL, "%s: sets %s: leave out --env %.64s", option,
			       text, p->env[i]);
	}
	return plan_add_env(p, text, e);
}

int plan_complete_deterministic(struct plan *p, struct err *e)
{
	static char hash[TEXT_MAX], seed[TEXT_MAX], start[TEXT_MAX];
	const char *const rows[] = { hash, seed, "LANG=C.UTF-8", "LC_ALL=C.UTF-8",
				     "TZ=UTC" };
	uint64_t seconds;
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
