/* SPDX-License-Identifier: MIT */
/*
 * confined.h - what a command keeps of its own confinement, from the broker to the report
 *
 * The order, in each command:
 *	confined_serve() or confined_start()	before a key is loaded
 *	confined_model(), confine_plan_prompt()	what it will need
 *	confined_go()				when all is open, before anything is heard
 */
#ifndef STEPJAIL_AGENT_CONFINED_H
#define STEPJAIL_AGENT_CONFINED_H

#include "agent/confine/confine.h"
#include "agent/model/model.h"
#include "agent/session/broker.h"
#include "agent/session/serve.h"
#include "agent/show/show.h"

struct confined {
	struct broker broker;
	struct confine_policy policy;
	struct confine_facts facts;
};

#define CONFINED_NOT ((struct confined){ .broker = BROKER_NONE })

/** confined_start() - Have a broker for this command line; 0, or as broker_open() */
int confined_start(struct confined *c, const char *stepjail,
		   const struct launch_args *args, const struct stop *stop,
		   struct err *e);

/** confined_serve() - The same, for the `stepjail serve` of a plan, which then goes by
 * it */
int confined_serve(struct confined *c, struct serve_plan *plan, const struct stop *stop,
		   struct err *e);

/** confined_model() - Plan for what asking this model takes; 0, or -errno */
int confined_model(struct confined *c, const struct model *m, struct err *e);

/** confined_go() - confine_self(), and say in a line what is missing */
int confined_go(struct confined *c, struct show *show, struct err *e);

/** confined_json() - As confine_json() */
cJSON *confined_json(const struct confined *c);

/** confined_end() - End the broker; safe on CONFINED_NOT */
void confined_end(struct confined *c);

#endif
