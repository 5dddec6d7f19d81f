/* SPDX-License-Identifier: MIT */
/*
 * confined.c - a command's own confinement, from the broker to the report: see confined.h
 */
#include <unistd.h>

#include "agent/session/confined.h"

int confined_serve(struct confined *c, struct session_plan *plan, const struct stop *stop,
		   struct err *e)
{
	cleanup_args struct launch_args a = { .count = 0 };
	const struct jail_options *jail = plan->jail;
	struct jail_binds *binds = plan->binds;
	int r = launch_find(jail->stepjail, &binds->stepjail, e);

	if (r < 0)
		return r;
	plan->broker = &c->broker;
	plan->step_ms = jail->step_ms;
	launch_add(&a, "stepjail");
	launch_add(&a, "serve");
	launch_add(&a, "--rootfs=%s", jail->rootfs);
	launch_add(&a, "--wall-time=%" PRIu64 "ms",
		   jail->step_ms > plan->most_ms ? jail->step_ms : plan->most_ms);
	launch_add(&a, "--grace=%dms", SERVE_GRACE_MS);
	if (plan->output_limit)
		launch_add(&a, "--output-limit=%s", plan->output_limit);
	for (size_t i = 0; i + 1 < jail->pass.count; i += 2)
		launch_add(&a, "--%s=%s", jail->pass.items[i], jail->pass.items[i + 1]);
	for (size_t i = 0; i < binds->count; i++)
		launch_add(&a, "--bind=%s", binds->list[i]);
	c->broker.server = jail->server;
	return broker_open(&c->broker, text_string(&binds->stepjail), &a, stop, e);
}

static void say_missing(const struct confine_policy *p, const struct confine_facts *f,
			struct stop *stop)
{
	cleanup_text struct text line = { 0 };

	confine_missing(p, f, &line);
	if (!line.length)
		return;
	text_puts(&line, "\n");
	(void)stop_write(stop, STDERR_FILENO, text_string(&line), line.length);
}

int confined_go(struct confined *c, struct stop *stop, struct err *e)
{
	c->policy.needs |= CONFINE_CHILDREN;

	int r = confine_self(&c->policy, &c->facts, e);

	if (r < 0)
		return r;
	say_missing(&c->policy, &c->facts, stop);
	if (c->client)
		say_missing(&c->client->policy, &c->client->hello.facts, stop);
	return 0;
}

cJSON *confined_json(const struct confined *c)
{
	const struct client *client = c->client;
	cJSON *o = confine_json(&c->policy, &c->facts);

	json_add(o, "client",
		 client ? confine_json(&client->policy, &client->hello.facts)
			: cJSON_CreateNull());
	return o;
}
