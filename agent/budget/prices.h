/* SPDX-License-Identifier: MIT */
/*
 * prices.h - what a model's tokens cost, from a file
 *
 * JSON: {"MODEL": {"input": 2.5, "output": 10}, ...}, dollars for a million tokens; the
 * name "*" is for every model that has no row of its own.
 */
#ifndef STEPJAIL_AGENT_PRICES_H
#define STEPJAIL_AGENT_PRICES_H

#include <stdint.h>

#include "init/err.h"

/* of one token, in dollars times 10^12 */
struct price {
	uint64_t input_pico, output_pico;
};

/**
 * prices_load() - Find a model's price
 *
 * Return: 0, or -errno with a line that names the file and what is wrong with it; -ENOENT
 * where it has no price for the model
 */
int prices_load(const char *path, const char *model_name, struct price *p, struct err *e);

/** prices_cost() - Of so many tokens, in dollars times 10^12; held at the largest
 * number */
uint64_t prices_cost(const struct price *p, uint64_t input, uint64_t output);

#endif
