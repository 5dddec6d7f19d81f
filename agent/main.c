/* SPDX-License-Identifier: MIT */
/*
 * main.c - stepjail-agent: the commands, and the only place that prints errors and exits
 */

#include "agent/base/memory.h"
#include "agent/cmd/commands.h"
#include "agent/record/record.h"
#include "built_agent.h"
#include "init/io.h"

#define STATUS_OWN_FAILURE 125

static const struct command *const commands[] = {
	&command_solve,  &command_chat,        &command_repl,  &command_verify,
	&command_replay, &command_transcripts, &command_check, NULL,
};

/* of all commands, behind their own */
static const struct exit_row exits[] = {
	{ "125",
	  "The agent or the jail failed: a wrong option, a file that cannot be read, a jail that does not start, stdout closed." },
	{ "128+N",
	  "Signal N ended the agent and its jails: 129 for SIGHUP, 130 for SIGINT (Ctrl-C), 143 for SIGTERM." },
	{ NULL, NULL },
};

static void usage(struct text *out)
{
	text_puts(out,
		  "stepjail-agent - let a model solve a task with Python in a jail\n\n"
		  "Usage:\n");
	options_commands(commands, out);
	text_puts(out, "  stepjail-agent COMMAND --help [all]\n"
		       "  stepjail-agent --version | --help | --man\n\n"
		       "COMMAND --help ends with the command's exit statuses.\n");
}

static const struct command *find(const char *name)
{
	for (size_t i = 0; name && commands[i]; i++)
		if (strcmp(name, commands[i]->name) == 0)
			return commands[i];
	return NULL;
}

/* where nobody reads any more, as behind head(1), nothing is to be said */
static int print(struct stop *stop, const struct text *out, struct err *e)
{
	int r = stop_print(stop, out, e);

	return r == -EPIPE ? STATUS_OWN_FAILURE : r;
}

static int run_command(const struct command *cmd, char *const *argv, struct stop *stop,
		       struct err *e)
{
	cleanup_free void *options = memory_zeroed(1, cmd->opts_bytes + 1);
	cleanup_text struct text out = { 0 };
	const char *operand;
	enum opt_help help;
	int r = options_parse(cmd, argv, options, &operand, &help, e);

	if (r < 0)
		return r;
	if (!help)
		return cmd->run(options, operand, stop, e);
	options_help(cmd, exits, help, &out);
	return print(stop, &out, e);
}

static int run(char *const *argv, struct stop *stop, struct err *e)
{
	cleanup_text struct text out = { 0 };
	const char *first = argv[0];
	const struct command *cmd = find(first);

	if (cmd)
		return run_command(cmd, argv + 1, stop, e);
	if (!first)
		return err_say(e, EINVAL,
			       "no command is given: see stepjail-agent --help");
	if (strcmp(first, "--version") == 0)
		text_puts(&out, "stepjail-agent " AGENT_VERSION "\n" BUILT_AGENT);
	else if (strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0 ||
		 (strcmp(first, "help") == 0 && !argv[1]))
		usage(&out);
	else if (strcmp(first, "help") == 0 && find(argv[1]))
		options_help(find(argv[1]), exits, OPT_HELP_COMMON, &out);
	else
		return err_say(e, EINVAL,
			       "'%.80s' is not a command: see stepjail-agent --help",
			       strcmp(first, "help") == 0 ? argv[1] : first);
	return print(stop, &out, e);
}

/* --json, and nothing is on stdout yet: the failure is an object, too */
static void print_failure(char *const *argv, struct stop *stop, const char *error,
			  int status)
{
	cleanup_text struct text out = { 0 };
	struct err unheard;

	while (*argv && strcmp(*argv, "--json") != 0 && strcmp(*argv, "--") != 0)
		argv++;
	if (!*argv || strcmp(*argv, "--") == 0 || stop->printed)
		return;

	cleanup_json cJSON *o =
		record_result(stop->signal ? "stopped" : "failed", NULL, error, status);

	(void)record_print(o, &out, &unheard);
	text_puts(&out, "\n");
	(void)stop_print(stop, &out, &unheard);
}

int main(int argc, char **argv)
{
	struct stop stop = { .fd = -1 };
	struct err e = { 0 };
	int r, status;

	json_memory();
	record_begin(argv);
	options_know(commands);
	r = io_hold_standard(O_RDONLY);
	r = r < 0 ? err_set(&e, -r, "open /dev/null") : confine_early(&e);
	if (r == 0 && argc > 1 &&
	    (strcmp(argv[1], "--man") == 0 || (find(argv[1]) && !find(argv[1])->run)))
		r = transcripts_become(argc, argv, &e);
	if (r == 0)
		r = stop_open(&stop, &e);
	if (r == 0)
		r = run(argv + (argc > 0), &stop, &e);
	if (r >= 0)
		return r;
	/* another failure than the signal's goes before it */
	if (r != -EINTR)
		stop.signal = 0;
	status = stop.signal ? 128 + stop.signal : STATUS_OWN_FAILURE;
	if (stop.signal)
		(void)err_say(&e, EINTR, "ended by SIG%s", sigabbrev_np(stop.signal));
	stop.tick = NULL; /* it was the command's */
	stop_say(&stop, e.text);
	print_failure(argv + (argc > 0), &stop, e.text, status);
	return status;
}
