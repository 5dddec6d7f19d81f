/* SPDX-License-Identifier: MIT */
/*
 * confined.c - a command's own confinement, from the broker to the report: see confined.h
 */
#include "agent/confine/confined.h"

#include "agent/confine/confine_plan.h"

int confined_start(struct confined *c, const char *stepjail,
		   const struct launch_args *args, const struct stop *stop, struct err *e)
{
	return broker_open(&c->broker, stepjail, args, stop, e);
}

int confined_serve(struct confined *c, struct serve_plan *plan, const struct stop *stop,
		   struct err *e)
{
	cleanup_args struct launch_args args = { .count = 0 };

	serve_args(plan, &args);
	plan->broker = &c->broker;
	return confined_start(c, plan->stepjail, &args, stop, e);
}

int confined_model(struct confined *c, const struct model *m, struct err *e)
{
	c->policy.secret = m->secret;
	c->policy.secret_bytes = m->secret_bytes;
	return confine_plan_server(&c->policy, text_string(&m->url), e);
}

int confined_go(struct confined *c, struct show *show, struct err *e)
{
	cleanup_text struct text missing = { 0 };
	int r = confine_self(&c->policy, &c->facts, e);

	if (r < 0)
		return r;
	confine_missing(&c->facts, &missing);
	if (missing.length)
		show_note(show, text_string(&missing));
	return 0;
}

cJSON *confined_json(const struct confined *c)
{
	return confine_json(&c->policy, &c->facts);
}

void confined_end(struct confined *c)
{
	broker_close(&c->broker);
}
