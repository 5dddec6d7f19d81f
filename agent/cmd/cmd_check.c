/* SPDX-License-Identifier: MIT */
/*
 * cmd_check.c - stepjail-agent check: confine this process, and a model client, and
 * show what the kernel says
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <unistd.h>

#include "agent/cmd/commands.h"
#include "agent/session/confined.h"
#include "agent/session/jail_opts.h"
#include "init/io.h"

struct check_options {
	const char *base_url;
	bool require_confinement;
};

#define ROW(group, kind, field) OPT_ROW(group, kind, struct check_options, field)

static const struct opt opts[] = {
	{ "base-url", "URL", NULL,
	  "As for solve with this server; without it, as with a scripted model.",
	  ROW(MODEL, TEXT, base_url) },
	CONFINE_OPT(struct check_options),
	{ .name = NULL },
};
OPT_ROWS_FIT(opts);

/* as solve does it, without a broker */
static int confine(const struct check_options *o, struct confined *c,
		   struct client **client, struct stop *stop, struct err *e)
{
	const struct client_plan plan = {
		.place = { .url = o->base_url, .key_prefix = "Authorization: Bearer " },
		.required = o->require_confinement,
	};
	int r = o->base_url ? client_open(client, &plan, stop, e) : 0;

	c->client = *client;
	c->policy.required = o->require_confinement;
	return r == 0 ? confined_go(c, stop, e) : r;
}

static int print(const struct confined *c, struct stop *stop, struct err *e)
{
	cleanup_text struct text out = { 0 };
	cJSON *root = confined_json(c);
	cleanup_free char *json = cJSON_Print(root);

	cJSON_Delete(root);
	text_printf(&out, "%s\n", json);
	return stop_print(stop, &out, e);
}

static int check_run(const void *options, const char *operand, struct stop *stop,
		     struct err *e)
{
	struct confined c = CONFINED_NOT;
	struct client *client = NULL;
	int r = confine(options, &c, &client, stop, e);

	(void)operand;
	if (r == 0)
		r = print(&c, stop, e);
	client_close(client);
	return r;
}

const struct command command_check = {
	.name = "check",
	.summary = "Show what the agent itself is confined to on this host, as JSON.",
	.about =
		"Before the first byte of a model or a jail comes in, the agent gives up what it does not need any more. It executes nothing, starts no process, traces and signals nobody but the stepjails it has, has no capability, dumps no core, and has no network: no socket can be made, of no kind. With a scripted model it can open no file, either. repl can read files, for :put, but none below /proc, /sys and /dev, and make new ones below the folder that it was started in, for :get. solve --skills DIR can make files in DIR, name and remove them.\n\n"
		"A model's server is asked by a process beside, the model client, which alone reads the key and has the network. It was forked before, and is given the bodies of requests; address, path and headers are fixed. It can open the certificates and, for a host that is a name, what name resolution reads, and connect by TCP to the server's port alone (and a proxy's, and 53 for long answers of DNS). It makes and signals no process. What confines it is in client, null without --base-url.\n\n"
		"Files and ports take Landlock, ports that of Linux 6.7. What this kernel lacks is in not_enforced; with --require-confinement it is a failure, exit status 125, here as in the other commands.\n\n"
		"stepjail is started by a process beside, which was forked before and knows no key, and no other command to run than stepjail with the arguments that were fixed then: of a session, of each check, and of a trial of functions to be saved.",
	.opts = opts,
	.opts_bytes = sizeof(struct check_options),
	.run = check_run,
};
