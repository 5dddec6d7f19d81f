/* SPDX-License-Identifier: MIT */
/*
 * cmd_check.c - stepjail-agent check: confine this process, and a model client, and
 * show what the kernel says
 */

#include "agent/cmd/commands.h"
#include "agent/session/confined.h"
#include "init/io.h"

struct check_options {
	const char *base_url;
	bool require_confinement;
};

#define ROW(group, kind, field) OPT_ROW(group, kind, struct check_options, field)

static const struct opt opts[] = {
	{ "base-url", "URL", NULL, ROW(MODEL, TEXT, base_url),
	  "Show the model client for this server as well, as solve would start it." },
	{ .name = NULL },
};

/* as solve does it, without a broker */
static int check_run(const void *options, const char *operand, struct stop *stop,
		     struct err *e)
{
	const struct check_options *o = options;
	const struct client_plan plan = {
		.place = { .url = o->base_url, .key_prefix = "Authorization: Bearer " },
		.required = o->require_confinement,
	};
	struct confined c = CONFINED_NOT(o->require_confinement);
	struct client *client = NULL;
	cleanup_text struct text out = { 0 };
	int r = o->base_url ? client_open(&client, &plan, stop, e) : 0;

	(void)operand;
	c.client = client;
	if (r == 0)
		r = confined_go(&c, stop, e);
	if (r == 0) {
		cleanup_json cJSON *facts = confined_json(&c);
		cleanup_free char *json = cJSON_Print(facts);

		text_printf(&out, "%s\n", json);
		r = stop_print(stop, &out, e);
	}
	client_close(client);
	return r;
}

const struct command command_check = {
	.name = "check",
	.summary = "Show what the agent itself is confined to on this host, as JSON.",
	.about =
		"Before the agent hears the first byte of a model or a jail, it gives up all rights that it no longer needs. It can execute no program, start no process and make no socket; it can trace nothing, and signal only its stepjails; it has no capability and dumps no core. With a scripted model it can open no file. With repl it can read files for :put, but none below /proc, /sys and /dev, and make new ones for :get, below the folder that it was started in.\n\n"
		"Another process, the model client, talks to the model's server. It alone has the key and the network. The agent gives it the bodies of requests; address, path and headers are fixed when it starts. It can open the certificates and, where the server is a name, the files of name resolution. It can connect by TCP to the server's port only (and to a proxy's, and to 53 for long answers of DNS). It can start and signal no process. What confines it is shown as client, which is null without --base-url.\n\n"
		"Landlock confines files and ports; ports need Linux 6.7. What this kernel lacks is listed in not_enforced. With --require-confinement it is an error (exit status 125), here as in the other commands.\n\n"
		"A third process, the broker, starts stepjail. It has no key, and knows only the command line that was fixed when it started.",
	OPT_PARTS({ opts, 0 },
		  { confine_opts, offsetof(struct check_options, require_confinement) }),
	.opts_bytes = sizeof(struct check_options),
	.run = check_run,
};
