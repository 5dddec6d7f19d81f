/* SPDX-License-Identifier: MIT */
/*
 * confined.h - what a command keeps of its own confinement, from the broker to the report
 *
 * The order, in each command:
 *	confined_serve()			the broker, before anything else is open
 *	model_open()				the model client, where there is one
 *	confined_go()				when all is open, before anything is heard
 */
#pragma once

#include "agent/key/client.h"
#include "agent/session/session.h"

struct confined {
	struct broker broker;
	const struct client *client; /* set before confined_go(); or NULL */
	struct confine_policy policy;
	struct confine_facts facts;
};

/* @needed: --require-confinement */
#define CONFINED_NOT(needed)                                                             \
	((struct confined){ .broker = BROKER_NONE, .policy.required = (needed) })

/**
 * confined_serve() - Have a broker for the `stepjail serve` of a plan
 * @plan:	Of a jail and its binds, which stay valid as long; goes by the broker then
 *
 * Return: 0, or as launch_find() and broker_open()
 */
int confined_serve(struct confined *c, struct session_plan *plan, const struct stop *stop,
		   struct err *e);

/**
 * confined_go() - confine_self(), with what asking the broker needs
 *
 * What is missing, here or around the model client, is said in a line each on stderr,
 * whatever else is shown or not.
 *
 * Return: 0, or as confine_self()
 */
int confined_go(struct confined *c, struct stop *stop, struct err *e);

/** confined_json() - As confine_json(), and in "client" that of the model client, or
 * null */
cJSON *confined_json(const struct confined *c);
