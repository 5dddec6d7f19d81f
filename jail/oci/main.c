/* SPDX-License-Identifier: MIT */
/*
 * main.c - stepjail-oci: an OCI runtime, by the command line that engines use
 *
 * It has no daemon and no privilege of its own. `create` makes a plan's options out of a
 * bundle (bundle.h), and a `stepjail run` that waits at its gate (create.c); the other
 * commands find that by the container's folder (container.h).
 */
#include <getopt.h>
#include <string.h>

#include "built.h"
#include "init/io.h"
#include "jail/base/json.h"
#include "jail/oci/command.h"

static int command_help(const struct call *c, struct err *e);
static int command_features(const struct call *c, struct err *e);

static const struct command {
	const char *name;
	int words;                                       /* behind it, at most */
	int (*act)(const struct call *c, struct err *e); /* NULL: refused */
	const char *help;
} commands[] = {
	{ "create", 1, command_create, "make a container, up to its program's start" },
	{ "start", 1, command_start, "start its program" },
	{ "state", 1, command_state, "print its state as JSON" },
	{ "kill", 2, command_kill, "send it a signal, TERM by default" },
	{ "delete", 1, command_delete, "remove it; --force ends it first" },
	{ "exec", INT_MAX, command_exec,
	  "start a program more in it: PROGRAM..., or that of --process FILE" },
	{ "ps", 1, command_ps, "print its processes" },
	{ "events", 1, command_events,
	  "print what it uses, every 5 s, or once with --stats" },
	{ "pause", 1, command_freeze, "freeze its processes" },
	{ "resume", 1, command_freeze, "thaw them" },
	{ "explain", 0, command_explain, "print what becomes of a bundle's members" },
	{ "features", 0, command_features, "print what this runtime can do" },
	{ "help", 0, command_help, "print this" },
	{ "update", 0, NULL,
	  "a jail's limits are those of its start: make a new container" },
};

static const struct option options[] = {
	{ "version", 0, NULL, OPTION_VERSION },
	{ "root", 1, NULL, OPTION_ROOT },
	{ "log", 1, NULL, OPTION_LOG },
	{ "log-format", 1, NULL, OPTION_NONE },
	{ "bundle", 1, NULL, OPTION_BUNDLE },
	{ "pid-file", 1, NULL, OPTION_PID_FILE },
	{ "console-socket", 1, NULL, OPTION_CONSOLE_SOCKET },
	{ "preserve-fds", 1, NULL, OPTION_PRESERVE_FDS },
	{ "format", 1, NULL, OPTION_FORMAT },
	{ "all", 0, NULL, OPTION_ALL },
	{ "force", 0, NULL, OPTION_FORCE },
	{ "process", 1, NULL, OPTION_PROCESS },
	{ "detach", 0, NULL, OPTION_DETACH },
	{ "stats", 0, NULL, OPTION_STATS },
	{ "interval", 1, NULL, OPTION_NONE },
	{ "tty", 0, NULL, OPTION_NONE },
	{ "no-pivot", 0, NULL, OPTION_NONE },
	{ "no-new-keyring", 0, NULL, OPTION_NONE },
	{ "debug", 0, NULL, OPTION_NONE },
	{ "systemd-cgroup", 0, NULL, OPTION_NONE },
	{ "rootless", 1, NULL, OPTION_NONE },
	{ NULL, 0, NULL, 0 },
};

static int command_help(const struct call *c, struct err *e)
{
	(void)c;
	(void)e;
	printf("usage: stepjail-oci [--root DIR] [--log FILE] COMMAND [options] ID\n\n");
	for (size_t i = 0; i < COUNT(commands); i++)
		printf("  %-10s %s%s\n", commands[i].name,
		       commands[i].act ? "" : "refused: ", commands[i].help);
	return 0;
}

static int command_features(const struct call *c, struct err *e)
{
	(void)c;
	(void)e;
	printf("{\"ociVersionMin\":\"1.0.0\",\"ociVersionMax\":\"" OCI_VERSION
	       "\",\"hooks\":[],\"mountOptions\":[\"bind\",\"rbind\",\"ro\",\"rw\"],\"linux\":{\"namespaces\":[\"cgroup\",\"ipc\",\"mount\",\"network\",\"pid\",\"user\",\"uts\"],\"capabilities\":[],\"cgroup\":{\"v1\":false,\"v2\":true},\"seccomp\":{\"enabled\":false}}}\n");
	return 0;
}

/* options as far as they go; engines write them before the command and behind it */
static int take_options(struct call *c, int argc, char **argv, struct err *e)
{
	int id;

	opterr = 0;
	while ((id = getopt_long(argc, argv, "+b:", options, NULL)) != -1) {
		if (id == '?')
			return err_say(e, EINVAL,
				       "%.64s is no option, or lacks its value: see help",
				       argv[optind - 1]);
		c->option[id == 'b' ? OPTION_BUNDLE : id] = optarg ? optarg : "";
	}
	return 0;
}

static int dispatch(struct call *c, int argc, char **argv, struct err *e)
{
	int r = take_options(c, argc, argv, e);
	const char *name = argv[optind];
	const struct command *command = commands;

	if (r == 0 && c->option[OPTION_VERSION])
		return printf("stepjail-oci version %s\nspec: %s\n" BUILT_OCI,
			      STEPJAIL_VERSION, OCI_VERSION);
	if (r < 0)
		return r;
	while (name && command < commands + COUNT(commands) &&
	       strcmp(command->name, name) != 0)
		command++;
	if (!name || command == commands + COUNT(commands))
		return err_say(e, EINVAL, "'%.64s' is no command: see help",
			       name ? name : "");
	if (!command->act)
		return err_say(e, ENOSYS, "%s: %s", name, command->help);
	optind++;
	r = take_options(c, argc, argv, e);
	if (r < 0)
		return r;
	if (c->option[OPTION_PRESERVE_FDS] &&
	    strcmp(c->option[OPTION_PRESERVE_FDS], "0") != 0)
		return err_say(
			e, EPERM,
			"--preserve-fds is refused: a jail's program gets stdin, stdout and stderr alone");
	if (argc - optind > command->words || (command->words && !argv[optind]))
		return err_say(e, EINVAL,
			       "%s: a word is missing, or one too many: see help", name);
	c->name = name;
	c->id = argv[optind];
	c->words = argv + optind + (c->id != NULL);
	return command->act(c, e);
}

/* as runc's log in JSON: engines take an error's words out of its last line */
static void write_log(const char *path, const struct err *told)
{
	FILE *out = fopen(path, "ae");

	if (!out)
		return;
	json_after("{\"level\":\"error\",\"msg\":", told->text, out);
	(void)fputs("}\n", out);
	(void)fclose(out);
}

int main(int argc, char **argv)
{
	struct call c = { .option = { [OPTION_ROOT] = container_root() } };
	struct err e = { 0 };
	int r = io_hold_standard(O_RDWR);

	words_memory();
	/* whatever an option names would be opened with somebody else's rights */
	if (getuid() != geteuid() || getgid() != getegid())
		r = err_say(
			&e, EPERM,
			"stepjail-oci must not be set-user-ID or set-group-ID: chmod ug-s it");
	else if (r < 0)
		r = err_set(&e, -r, "open /dev/null in place of a closed fd 0, 1 or 2");
	else
		r = dispatch(&c, argc, argv, &e);
	if (r >= 0 && (fflush(stdout) != 0 || ferror(stdout)))
		r = err_set(&e, errno, "write to stdout");
	if (r >= 0)
		return 0;
	if (c.option[OPTION_LOG])
		write_log(c.option[OPTION_LOG], &e);
	/* unless stepjail has said it there, see read_failure() */
	if (r != -ECHILD || c.option[OPTION_CONSOLE_SOCKET])
		(void)fprintf(stderr, "stepjail-oci: %s\n", e.text);
	return STATUS_FAILED;
}
