/* SPDX-License-Identifier: MIT */
/*
 * jail_opts.c - the options of a session's jail, and the files that it is given: see
 * jail_opts.h
 */

#include "agent/base/memory.h"
#include "agent/base/path.h"
#include "agent/session/jail_opts.h"
#include "init/io.h"

#define ROW(group, kind, field) OPT_ROW(group, kind, struct jail_options, field)
#define COMMON(group, kind, field) OPT_COMMON(group, kind, struct jail_options, field)
#define PASS(name_, arg_, group, help_, ...)                                             \
	{                                                                                \
		.name = name_, .arg = arg_, .help = help_, ROW(group, PASS, pass),       \
		__VA_ARGS__                                                              \
	}

const struct opt pass_opts[] = {
	{ "memory", "SIZE", "512M", COMMON(LIMITS, PASS, pass),
	  "Memory of the jail, files in its tmpfs included." },
	PASS("keep-states", "NUMBER", LIMITS,
	     "Earlier states to go back to, beside those that branches are at."),
	PASS("keep-memory", "SIZE", LIMITS,
	     "Memory of these states together; the oldest are dropped first."),
	PASS("cpus", "NUMBER", LIMITS, "How many CPUs' time the jail may use."),
	PASS("cpu-time", "TIME", LIMITS,
	     "End a step after this much CPU time of all its processes together."),
	PASS("pids", "NUMBER", LIMITS, "Processes and threads of the jail."),
	PASS("tmp-size", "SIZE", LIMITS, "Space in /tmp and /dev/shm together."),
	PASS("work-size", "SIZE", LIMITS, "Space in /work."),
	PASS("lock-code", "[=auto|no|warm|yes]", JAIL,
	     "Forbid subprocesses (execve) and new executable memory; auto is yes for the tree core, warm for data, no for others; warm is yes in sessions from a template, and no elsewhere."),
	PASS("on-violation", "refuse|kill", JAIL,
	     "On a forbidden system call: refuse it with EPERM, or kill the jail."),
	PASS("deterministic", "[=no|yes]", REPEAT,
	     "The same hash seed, random numbers, order of files, locale and time zone in each run, and one CPU."),
	PASS("seed", "NUMBER", REPEAT,
	     "Seed for the hashes and random numbers of --deterministic.",
	     .with = { "deterministic" }),
	PASS("aslr", "[=yes|no]", REPEAT,
	     "Random memory addresses, or the same ones in each run."),
	PASS("clock-start", "DATE", REPEAT,
	     "Start the jail's monotonic clocks at zero, and its Python's wall clock at DATE, such as 2024-02-29T12:00:00Z, in each session."),
	PASS("media-limit", "SIZE", LIMITS,
	     "Bytes of pictures, tables and other things that a step may show beside its output; 0 for none."),
	{ .name = NULL },
};

const struct opt host_opts[] = {
	PASS("allow-missing", "cgroup|audit", JAIL,
	     "Run without cgroup limits where the host has no usable cgroup v2, or without a record of violations where an outer sandbox keeps it."),
	PASS("allow-host", "HOST:PORT,...", JAIL,
	     "Let HTTP and HTTPS out to these hosts, through a proxy; *.NAME:PORT for all below NAME. The model is told of them."),
	PASS("secret-header", "HOST:NAME=FILE", JAIL,
	     "Add a header with the line in FILE to requests for http://HOST/, which are sent over TLS: no jail has it."),
	PASS("egress-limit", "SIZE", JAIL, "Bytes to and from them, in each session."),
	PASS("wall", "kernel|vm", JAIL,
	     "What is between the jails and the host: its own kernel, or a guest of QEMU's, once stepjail vm build has been run."),
	PASS("vm-memory", "SIZE", JAIL, "Memory of this guest.", .with = { "wall" }),
	PASS("policy", "FILE", JAIL,
	     "Read more options for every jail from this file: see stepjail(1)."),
	{ "config", "FILE", NULL, ROW(JAIL, TEXT, config),
	  "Take options that are not given from this file, a line for each: its name, a blank, its value; none for no file. Without this option it is $XDG_CONFIG_HOME/stepjail/agent.conf, or ~/.config/stepjail/agent.conf, if there is one. Variables such as STEPJAIL_STEP_TIME win over the file.",
	  .only_given = true },
	{ "stepjail", "PATH", NULL, ROW(JAIL, TEXT, stepjail),
	  "The stepjail to start; without this, the one beside this program." },
	{ "server", "PATH", NULL, ROW(JAIL, TEXT, server),
	  "Have sessions of the stepjail-mcp that listens on this unix socket (its --listen), whose Python is warm from one run to the next. It opens what --file and --rootfs name." },
	{ .name = NULL },
};

const struct opt jail_opts[] = {
	{ "file", "PATH", NULL, COMMON(TASK, LIST, files),
	  "Show this file or folder, read-only, in the jail's /work/in. A pipe, or - for stdin, is read to its end first, and is a file in /work. May be given up to 256 times." },
	{ "file-limit", "SIZE", "256M", ROW(TASK, SIZE, file_limit_bytes),
	  "Refuse a --file that is a pipe and holds more than this.", .min = 1,
	  .max = (uint64_t)1 << 50, .with = { "file" } },
	{ "step-time", "TIME", "60s", COMMON(LIMITS, TIME, step_ms),
	  "Interrupt a step after this much time; kill it 2 seconds later.", .min = 100,
	  .max = 24 * HOUR_MS },
	{ "rootfs", "NAME|DIR", "core", COMMON(TASK, TEXT, rootfs),
	  "Root tree: the name of a shipped tree (core; data has numpy, pandas and matplotlib), or a folder with a '/' in its path." },
	{ .name = NULL },
};

/* each is its part's one field; as OPT_ROW() */
#define ALONE(group_, kind_) .group = OPT_GROUP_##group_, .kind = OPT_##kind_, .offset = 0

const struct opt transcript_opts[] = {
	{ "transcript", "FILE", NULL, .common = true, ALONE(RESULTS, TEXT),
	  "Record the run in this file, which must be new; none for no record. Without this option it is a new file in $XDG_STATE_HOME/stepjail/transcripts, or ~/.local/state/stepjail/transcripts." },
	{ .name = NULL },
};

const struct opt confine_opts[] = {
	{ "require-confinement", NULL, NULL, ALONE(JAIL, FLAG),
	  "Refuse to run where this kernel cannot keep the agent itself from other files and ports (Landlock; ports need Linux 6.7). Without this, a line on stderr says so." },
	{ .name = NULL },
};

const struct opt color_opts[] = {
	{ "color", NULL, "auto", ALONE(RESULTS, CHOICE),
	  "Colour; auto: on a terminal, unless NO_COLOR is set.",
	  .choices = { "auto", "always", "never" } },
	{ .name = NULL },
};

int jail_binds_more(struct jail_binds *b, const char *path, const char *folder,
		    const char *name, struct err *e)
{
	cleanup_text struct text whole = { 0 };

	if (b->count == OPT_LIST_MAX)
		return err_say(e, E2BIG, "%s: a jail takes at most %d files", path,
			       OPT_LIST_MAX);
	/* the same plan, and so the same digest of it, from whatever folder */
	path_absolute(path, &whole);
	text_printf(&whole, ":%s/%s", folder, name);
	b->list[b->count++] = memory_string(text_string(&whole));
	return 0;
}

static int check_names(const struct jail_binds *b, size_t i, struct err *e)
{
	const struct input_file *f = &b->files[i];

	for (size_t k = 0; k < i; k++)
		if (strcmp(b->files[k].name, f->name) == 0)
			return err_say(
				e, EEXIST,
				"--file: two files are called %s, and the jail's %s can hold only one",
				f->name, f->stream ? INPUT_STREAMS : INPUT_FOLDER);
	return 0;
}

/* of its bytes that are read here */
static int make_put(const char *path, uint64_t limit_bytes, struct stop *stop,
		    struct jail_binds *b, struct input_file *f, struct err *e)
{
	int fd = input_file_take_stream(path, limit_bytes, stop, e);

	if (fd < 0)
		return fd;
	f->stream = true;
	f->path = path;
	b->puts[b->put_count++] = (struct session_file){ fd, f->name };
	b->own_puts = b->put_count;
	if (strcmp(f->name, "in") == 0 || strcmp(f->name, "out") == 0)
		return err_say(e, EEXIST,
			       "--file: %s: the jail has a folder of that name", path);
	return input_file_look_at(fd, f, e);
}

int jail_binds_make(const struct jail_options *o, const bool *streams, struct stop *stop,
		    struct jail_binds *b, struct err *e)
{
	const struct opt_list *files = &o->files;
	int r = 0;

	b->files = memory_zeroed(files->count, sizeof(*b->files));
	for (size_t i = 0; r == 0 && i < files->count; i++) {
		const char *path = files->items[i];
		struct input_file *f = &b->files[i];

		if (input_file_is_stream(path, f->name) || (streams && streams[i])) {
			r = make_put(path, o->file_limit_bytes, stop, b, f, e);
		} else {
			r = input_file_look(path, f, e);
			if (r == 0)
				r = jail_binds_more(b, path, INPUT_FOLDER, f->name, e);
		}
		if (r == 0)
			r = check_names(b, i, e);
	}
	return r;
}

const char *jail_passed(const struct opt_list *pass, const char *name)
{
	for (size_t i = 0; i + 1 < pass->count; i += 2)
		if (strcmp(pass->items[i], name) == 0)
			return pass->items[i + 1];
	return NULL;
}

void jail_binds_free(struct jail_binds *b)
{
	for (size_t i = 0; i < b->count; i++)
		free(b->list[i]);
	for (size_t i = 0; i < b->own_puts; i++)
		io_close_fd(&b->puts[i].fd);
	free(b->files);
	text_free(&b->stepjail);
	*b = (struct jail_binds){ 0 };
}
