/* SPDX-License-Identifier: MIT */
/*
 * budget_opts.h - the options of a task's budget, and the budget that they make
 */
#ifndef STEPJAIL_AGENT_BUDGET_OPTS_H
#define STEPJAIL_AGENT_BUDGET_OPTS_H

#include "agent/budget/budget.h"
#include "agent/cli/options.h"
#include "agent/session/jail_opts.h"

/* part of a command's struct; 0 where an option was not given */
struct budget_options {
	uint64_t steps;
	uint64_t wall_ms;
	uint64_t cpu_ms;
	uint64_t output_bytes;
	uint64_t tokens;
	uint64_t cost_pico;
	const char *prices;
};

/**
 * budget_make() - The budget of a task that begins now
 * @b:		Overwritten
 * @model_name:	To find its price by; may be NULL
 *
 * Return: 0, or -errno where a price is missing for what is to be limited
 */
int budget_make(const struct budget_options *o, const char *model_name, struct budget *b,
		struct err *e);

/* rows of a command's table, for a struct with a struct budget_options named budget */
#define BUDGET_OPTS(type)                                                                \
	{ "steps",                                                                       \
	  "N",                                                                           \
	  "10",                                                                          \
	  "How many steps the model has.",                                               \
	  OPT_COMMON(LIMITS, COUNT, type, budget.steps),                                 \
	  .min = 1,                                                                      \
	  .max = 1000 },                                                                 \
		{ "wall-time",                                                           \
		  "TIME",                                                                \
		  "10m",                                                                 \
		  "Longest time for the whole task.",                                    \
		  OPT_COMMON(LIMITS, TIME, type, budget.wall_ms),                        \
		  .min = 100,                                                            \
		  .max = 24 * HOUR_MS },                                                 \
		{ "total-cpu-time",                                                      \
		  "TIME",                                                                \
		  NULL,                                                                  \
		  "Processor time of all steps together.",                               \
		  OPT_ROW(LIMITS, TIME, type, budget.cpu_ms),                            \
		  .min = 100,                                                            \
		  .max = 24 * HOUR_MS },                                                 \
		{ "total-output",                                                        \
		  "SIZE",                                                                \
		  NULL,                                                                  \
		  "How much all steps together may print.",                              \
		  OPT_ROW(LIMITS, SIZE, type, budget.output_bytes),                      \
		  .min = 1,                                                              \
		  .max = UINT64_MAX / 2 },                                               \
		{ "total-tokens",                                                        \
		  "N",                                                                   \
		  NULL,                                                                  \
		  "Tokens of all requests and replies together, as the server tells "    \
		  "them; where it tells none, as judged by bytes.",                      \
		  OPT_ROW(LIMITS, COUNT, type, budget.tokens),                           \
		  .min = 1,                                                              \
		  .max = 1000000000000 },                                                \
		{ "total-cost",                                                          \
		  "DOLLARS",                                                             \
		  NULL,                                                                  \
		  "What the tokens of a task may cost; needs --prices.",                 \
		  OPT_COMMON(LIMITS, MONEY, type, budget.cost_pico),                     \
		  .max = UINT64_MAX },                                                   \
	{                                                                                \
		"prices", "FILE", NULL,                                                  \
			"Prices of models, a JSON object: {\"MODEL\": {\"input\": 2.5, " \
			"\"output\": 10}}, dollars for a million tokens; \"*\" is any "  \
			"other model. \"cached\" and \"cache_write\" price tokens of "   \
			"a server's cache; without them these cost what input does.",    \
			OPT_COMMON(LIMITS, TEXT, type, budget.prices)                    \
	}

#endif
