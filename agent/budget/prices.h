/* SPDX-License-Identifier: MIT */
/*
 * prices.h - what a model's tokens cost, from a file
 *
 * JSON: {"MODEL": {"input": 2.5, "output": 10}, ...}, dollars for a million tokens; the
 * name "*" is for every model that has no row of its own. A row may have "cached" and
 * "cache_write" too, for tokens of a prompt that the server read from its cache or wrote
 * into it. Without them these cost what input does: a cache makes nothing cheaper
 * unless the file says so, and the agent asks no server to write one.
 */
#ifndef STEPJAIL_AGENT_PRICES_H
#define STEPJAIL_AGENT_PRICES_H

#include <stdint.h>

#include "agent/model/model.h"
#include "init/err.h"

/* of one token, in dollars times 10^12 */
struct price {
	uint64_t input_pico, output_pico, cached_pico, cache_write_pico;
};

/**
 * prices_load() - Find a model's price
 *
 * Return: 0, or -errno with a line that names the file and what is wrong with it; -ENOENT
 * where it has no price for the model
 */
int prices_load(const char *path, const char *model_name, struct price *p, struct err *e);

/** prices_cost() - Of all tokens, in dollars times 10^12; held at the largest number */
uint64_t prices_cost(const struct price *p, const struct usage *u);

#endif
