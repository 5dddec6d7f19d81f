/* SPDX-License-Identifier: MIT */
/*
 * trial.h - a function that a model wants to keep, tried in a fresh jail (trial.py)
 */
#ifndef STEPJAIL_AGENT_TRIAL_H
#define STEPJAIL_AGENT_TRIAL_H

#include "agent/session/run_once.h"
#include "agent/skills/skills.h"

#define TRIAL_MS ((uint64_t)10000) /* or a step's limit, where that is shorter */

/* what was found of a function that passed */
struct trial_facts {
	struct text signature, doc; /* bytes that a model wrote */
	unsigned int examples;
};

/** trial_ms() - Longest time for one */
uint64_t trial_ms(const struct jail_options *jail);

/** trial_args() - The arguments of each stepjail; functions of @s can be imported
 * there */
void trial_args(const struct skills *s, const struct jail_options *jail,
		struct launch_args *a);

/**
 * trial_run() - Try one
 * @once:	Large
 * @why:	Gets why it did not pass, harmless to show
 *
 * It passes only where the judge in the jail wrote this trial's secret, and ended well.
 *
 * Return: 1 with @f; 0 with @why; or -errno as run_once()
 */
int trial_run(const struct run_once_plan *p, const char *name, const struct text *source,
	      struct run_once *once, struct trial_facts *f, struct text *why,
	      struct err *e);

/** trial_facts_free() - Free its texts */
void trial_facts_free(struct trial_facts *f);

#endif
