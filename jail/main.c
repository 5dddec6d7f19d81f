/* SPDX-License-Identifier: MIT */
/*
 * main.c - stepjail: the commands table
 */
#include <string.h>

#include "built.h"
#include "init/io.h"
#include "jail/base/command.h"
#include "jail/vm/take.h"
#include "jail/watch/outcome.h"

static int command_help(char *const *argv, struct err *e);

static int command_version(char *const *argv, struct err *e)
{
	(void)argv;
	(void)e;
	printf("stepjail %s\n%s", STEPJAIL_VERSION, BUILT_JAIL);
	return 0;
}

static const struct {
	const char *name;
	const char *help; /* NULL: another name of a row before */
	int (*act)(char *const *argv, struct err *e);
	bool in_cgroup; /* makes jails: needs a place for cgroup leaves */
} commands[] = {
	{ "run", "run a program in a jail", command_run, true },
	{ "serve", "run Python in sessions, for a program on a socket", command_serve,
	  true },
	{ "check", "say what this host has and lacks for a jail", command_check, true },
	{ "explain", "print the plan that the options make, as a policy file",
	  command_explain, false },
	{ "escape", "run the shipped attacks in jails; exit status 0 if all are held",
	  command_escape, false },
	{ "vm", "make the image for guests of --wall vm", command_vm, false },
	{ "help", "print this, or a command's options", command_help, false },
	{ "version", "print the version and the build", command_version, false },
	{ "--help", NULL, command_help, false },
	{ "-h", NULL, command_help, false },
	{ "--version", NULL, command_version, false },
};

static int command_help(char *const *argv, struct err *e)
{
	char help[] = "--help", *const words[] = { help, NULL };

	for (size_t i = 0; argv[0] && i < COUNT(commands); i++)
		if (commands[i].act != command_help &&
		    strcmp(commands[i].name, argv[0]) == 0)
			return commands[i].act(words, e);
	printf("stepjail %s - run a program in a jail of namespaces, cgroups and seccomp\n\n"
	       "usage: stepjail COMMAND [options]\n\n",
	       STEPJAIL_VERSION);
	for (size_t i = 0; i < COUNT(commands) && commands[i].help; i++)
		printf("  %-9s %s\n", commands[i].name, commands[i].help);
	printf("\nstepjail COMMAND --help prints the command's options and exit statuses.\n");
	return 0;
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
		cgroup_in_scope = true;
		argv++;
	}

	const char *name = argv[0] ? argv[1] : NULL;

	/* every file that an option names would be opened with somebody else's rights */
	if (getuid() != geteuid() || getgid() != getegid())
		return err_say(
			e, EPERM,
			"stepjail must not be set-user-ID or set-group-ID: chmod ug-s it");
	if (!name)
		return err_say(e, EINVAL, "no command is given: see stepjail help");
	for (size_t i = 0; i < COUNT(commands); i++)
		if (strcmp(commands[i].name, name) == 0)
			return act(i, argv, e);
	return err_say(e, EINVAL, "'%.64s' is not a command: see stepjail help", name);
}

int main(int argc, char **argv)
{
	struct err e = { 0 };
	int r = dispatch(argv, &e);

	(void)argc;
	if (r >= 0 && (fflush(stdout) != 0 || ferror(stdout)))
		r = err_set(&e, errno, "write to stdout");
	if (r >= 0)
		return r;
	(void)fprintf(stderr, "stepjail: %s\n", e.text);
	return STATUS_FAILED;
}
