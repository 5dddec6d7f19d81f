/* SPDX-License-Identifier: MIT */
/*
 * budget.h - what a task may cost: steps, time, CPU, output, tokens, money
 *
 * One object for all of it, filled from what was measured (by the clock, by stepjail, by
 * the model's server), asked before each reply and before each step, and told to the
 * model in each observation, so that it can plan.
 *
 * Time, tokens and money end a task at once: each further reply would cost more of them.
 * Without steps, CPU time or room for output there is still one reply to answer in.
 */
#pragma once

#include "agent/model/model.h"
#include "agent/session/session.h"

#define BUDGET_NONE UINT64_MAX /* no limit */

enum budget_kind {
	BUDGET_STEPS,
	BUDGET_WALL_MS,
	BUDGET_CPU_MS,
	BUDGET_OUTPUT_BYTES,
	BUDGET_TOKENS,
	BUDGET_COST_PICO, /* dollars times 10^12 */
	BUDGET_KINDS,
};

/*
 * What tokens cost, from a file
 *
 * JSON: {"MODEL": {"input": 2.5, "output": 10}, ...}, dollars for a million tokens; the
 * name "*" is for every model that has no row of its own. A row may have "cached" and
 * "cache_write" too, for tokens of a prompt that the server read from its cache or wrote
 * into it. Without them these cost what input does: a cache makes nothing cheaper
 * unless the file says so, and the agent asks no server to write one.
 */
/* of one token, in dollars times 10^12 */
struct price {
	uint64_t input_pico, output_pico, cached_pico, cache_write_pico;
};

struct budget {
	uint64_t limit[BUDGET_KINDS]; /* BUDGET_NONE for none */
	uint64_t used[BUDGET_KINDS];
	uint64_t started_ms; /* on units_now_ms()'s clock */
	struct price price;
	bool priced; /* @price is known */
};

/* part of a command's struct */
struct budget_options {
	uint64_t limit[BUDGET_KINDS]; /* 0 where it was not given */
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

/**
 * prices_load() - Find a model's price
 *
 * Return: 0, or -errno with a line that names the file and what is wrong with it; -ENOENT
 * where it has no price for the model
 */
int prices_load(const char *path, const char *model_name, struct price *p, struct err *e);

/** prices_cost() - Of all tokens, in dollars times 10^12; held at the largest number */
uint64_t prices_cost(const struct price *p, const struct usage *u);

/** budget_step() - Count a step, and what it has used; NULL for one that was not run */
void budget_step(struct budget *b, const struct step *step);

/** budget_judged() - Count the processor time of a step that judged an answer */
void budget_judged(struct budget *b, const struct step *step);

/** budget_model() - Take over what the model has used so far, in all */
void budget_model(struct budget *b, const struct usage *usage);

/** budget_left() - How much of a kind is left; BUDGET_NONE without a limit */
uint64_t budget_left(const struct budget *b, enum budget_kind kind);

/**
 * budget_ended() - Find a budget that is used up
 * @replies:	Ask for those that end a task at once; else for those that end its steps
 *
 * Return: its kind, BUDGET_KINDS for none
 */
enum budget_kind budget_ended(const struct budget *b, bool replies);

/**
 * budget_reply_tokens() - How long a reply may be that tokens and money still pay for
 * @asked:	Tokens of the request
 *
 * Return: tokens; BUDGET_NONE without a limit
 */
uint64_t budget_reply_tokens(const struct budget *b, uint64_t asked);

/** budget_tell() - Add a line for the model: what is left, or that it is to answer now */
void budget_tell(const struct budget *b, struct text *out);

/** budget_words() - Add which one is used up, but for a rest that pays for nothing, and
 * the option that set it */
void budget_words(const struct budget *b, enum budget_kind kind, struct text *out);

/** budget_json() - Limits that there are, and all that was used */
cJSON *budget_json(const struct budget *b);

extern const struct opt budget_opts[]; /* of a struct budget_options */
