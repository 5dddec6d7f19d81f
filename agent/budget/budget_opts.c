/* SPDX-License-Identifier: MIT */
/*
 * budget_opts.c - a budget out of its options: see budget_opts.h
 */
#include <errno.h>

#include "agent/base/units.h"
#include "agent/budget/budget_opts.h"

static uint64_t limit(uint64_t given)
{
	return given ? given : BUDGET_NONE;
}

int budget_make(const struct budget_options *o, const char *model_name, struct budget *b,
		struct err *e)
{
	*b = (struct budget){
		.limit = { [BUDGET_STEPS] = o->steps,
			   [BUDGET_WALL_MS] = o->wall_ms,
			   [BUDGET_CPU_MS] = limit(o->cpu_ms),
			   [BUDGET_OUTPUT_BYTES] = limit(o->output_bytes),
			   [BUDGET_TOKENS] = limit(o->tokens),
			   [BUDGET_COST_PICO] = limit(o->cost_pico) },
		.started_ms = units_now_ms(),
		.priced = o->prices,
	};
	if (o->cost_pico && !o->prices)
		return err_say(e, EINVAL,
			       "--total-cost: what do tokens cost? give --prices FILE");
	if (o->prices && !model_name)
		return err_say(e, EINVAL,
			       "--prices: of which model? give --model-name NAME");
	return o->prices ? prices_load(o->prices, model_name, &b->price, e) : 0;
}
