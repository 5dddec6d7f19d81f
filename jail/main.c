/* SPDX-License-Identifier: MIT */
/*
 * main.c - stepjail: the commands table
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "init/io.h"
#include "jail/launch/cgroup/cgroup.h"
#include "jail/base/command.h"
#include "jail/plan/option.h"
#include "jail/watch/outcome.h"
#include "jail/launch/shipped.h"
#include "jail/base/version.h"

static int command_help(char *const *argv, struct err *e);
static int command_version(char *const *argv, struct err *e);

static const struct {
	const char *name;
	const char *arguments;
	const char *help;
	int (*act)(char *const *argv, struct err *e);
	bool in_cgroup; /* makes jails: needs a place for cgroup leaves */
} commands[] = {
	{ "run", "[options] [--] program [args]", "run a program in a jail", command_run,
	  true },
	{ "check", "[--json] [options]", "say what this host has and lacks for a jail",
	  command_check, true },
	{ "explain", "[options]",
	  "print the plan that the options make, as a policy file", command_explain,
	  false },
	{ "serve", "[options of run]",
	  "run Python in sessions, for a program on a socket", command_serve, true },
	{ "escape", "[--json] [options of run]",
	  "run the shipped attacks in such jails; 0 only if all are held", shipped_escape,
	  false },
	{ "help", "", "print this", command_help, false },
	{ "version", "", "print the version", command_version, false },
};
#define COMMAND_COUNT (COUNT(commands))

/* also written, with other words, in the README and the manual */
static const char exit_statuses[] =
	"exit status of run:\n"
	"  the program's own; 128+N if signal N ended it (137: killed, see the report)\n"
	"  124 wall-time ended it; 125 stepjail failed: the program did not run, or was\n"
	"  killed for it, or its report or captured output could not be written;\n"
	"  126 not executable; 127 not found\n";

static int command_help(char *const *argv, struct err *e)
{
	(void)argv;
	(void)e;
	printf("stepjail %s - run a program in a jail of namespaces, cgroups and seccomp\n\n",
	       STEPJAIL_VERSION);
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		printf("  stepjail %-8s %-30s %s\n", commands[i].name,
		       commands[i].arguments, commands[i].help);
	printf("\noptions of run and explain (stepjail run --help):\n");
	option_print_help(stdout);
	printf("\n%s", exit_statuses);
	return 0;
}

static int command_version(char *const *argv, struct err *e)
{
	(void)argv;
	(void)e;
	printf("stepjail %s\n", STEPJAIL_VERSION);
	return 0;
}

static const char *unalias(const char *name)
{
	static const char *const aliases[][2] = {
		{ "--help", "help" },
		{ "-h", "help" },
		{ "--version", "version" },
	};

	for (size_t i = 0; i < COUNT(aliases); i++)
		if (strcmp(name, aliases[i][0]) == 0)
			return aliases[i][1];
	return name;
}

static int act(size_t i, char *const *argv, struct err *e)
{
	/* what a jail's program, or a template, inherits can be written to all the
	 * same */
	int r = io_hold_standard(commands[i].in_cgroup ? O_RDWR : O_RDONLY);

	if (r < 0)
		return err_set(e, -r, "open /dev/null in place of a closed fd 0, 1 or 2");
	if (commands[i].in_cgroup)
		cgroup_enter_scope(argv);
	return commands[i].act(argv + 2, e);
}

static int dispatch(char *const *argv, struct err *e)
{
	/* words of cgroup_enter_scope() to itself */
	if (argv[0] && argv[1] && strcmp(argv[1], "--in-scope") == 0) {
		cgroup_entered_scope();
		argv++;
	}

	const char *name = argv[0] && argv[1] ? unalias(argv[1]) : NULL;

	/* every file that an option names would be opened with somebody else's rights */
	if (getuid() != geteuid() || getgid() != getegid())
		return err_say(
			e, EPERM,
			"stepjail must not be set-user-ID or set-group-ID: chmod ug-s it");
	if (!name)
		return err_say(e, EINVAL, "no command is given: see stepjail help");
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (strcmp(commands[i].name, name) == 0)
			return act(i, argv, e);
	return err_say(e, EINVAL, "'%.64s' is not a command: see stepjail help", name);
}

int main(int argc, char **argv)
{
	struct err e = { 0 };
	int r;

	(void)argc;
	r = dispatch(argv, &e);
	if (r >= 0 && (fflush(stdout) != 0 || ferror(stdout)))
		r = err_set(&e, errno, "write to stdout");
	if (r < 0) {
		(void)fprintf(stderr, "stepjail: %s\n", e.text);
		return STATUS_FAILED;
	}
	return r;
}
