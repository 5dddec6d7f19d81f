/* SPDX-License-Identifier: MIT */
/*
 * cmd_check.c - stepjail-agent check: confine this process, and show what the kernel says
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <unistd.h>

#include "agent/cmd/commands.h"
#include "agent/confine/confine_plan.h"
#include "agent/session/jail_opts.h"
#include "init/io.h"

struct check_options {
	const char *base_url;
	bool require_confinement;
};

#define ROW(kind, field) OPT_ROW(kind, struct check_options, field)

static const struct opt opts[] = {
	{ "base-url", "URL", NULL,
	  "As for solve with this server; without it, as with a scripted model.",
	  ROW(TEXT, base_url) },
	CONFINE_OPT(struct check_options),
	{ .name = NULL },
};
OPT_ROWS_FIT(opts);

static int check_run(const void *options, const char *operand, struct stop *stop,
		     struct err *e)
{
	const struct check_options *o = options;
	struct confine_policy policy = { .required = o->require_confinement };
	struct confine_facts facts;
	cleanup_text struct text out = { 0 };
	int r = confine_plan_server(&policy, o->base_url ? o->base_url : "", e);

	(void)operand;
	if (r == 0)
		r = confine_self(&policy, &facts, e);
	if (r < 0)
		return r;

	cJSON *root = confine_json(&policy, &facts);
	cleanup_free char *json = cJSON_Print(root);

	cJSON_Delete(root);
	text_printf(&out, "%s\n", json);
	return stop_print(stop, &out, e);
}

const struct command command_check = {
	.name = "check",
	.summary = "Show what the agent itself is confined to on this host, as JSON.",
	.about =
		"Before the first byte of a model or a jail comes in, the agent gives up what it does not need any more. It executes nothing, starts no process, traces and signals nobody but the stepjails it has, has no capability, and dumps no core. With a model's server it can open the certificates and, for a host that is a name, what name resolution reads, and connect by TCP to the server's port alone (and a proxy's, and 53 for long answers of DNS). With a scripted model it can open nothing and reach nobody. repl can read files, for :put, but none below /proc, /sys and /dev, and make new ones below the folder that it was started in, for :get. solve --skills DIR can make files in DIR, name and remove them.\n\n"
		"Files and ports take Landlock, ports that of Linux 6.7. What this kernel lacks is in not_enforced; with --require-confinement it is a failure, exit status 125, here as in the other commands.\n\n"
		"stepjail is started by a process beside, which was forked before and knows no key, and no other command to run than stepjail with the arguments that were fixed then: of a session, of each check, and of a trial of functions to be saved.",
	.opts = opts,
	.opts_bytes = sizeof(struct check_options),
	.run = check_run,
};
