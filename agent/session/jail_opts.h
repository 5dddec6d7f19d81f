/* SPDX-License-Identifier: MIT */
/*
 * jail_opts.h - the options of a session's jail, the same in each command that has one
 */
#pragma once

#include "agent/base/text.h"
#include "agent/cli/options.h"
#include "agent/session/input_file.h"

#define HOUR_MS ((uint64_t)3600000)

/* part of a command's struct */
struct jail_options {
	const char *rootfs;
	const char *stepjail;
	uint64_t step_ms;
	uint64_t file_limit_bytes;
	struct opt_list files;
	struct opt_list pass;
};

/* a file that each new session begins with, written below /work by PUT */
struct session_file {
	int fd; /* read from its beginning each time */
	const char *path;
};

struct jail_binds {
	struct input_file *files; /* one for each --file */
	char *list[OPT_LIST_MAX]; /* "PATH:/work/in/NAME" */
	size_t count;             /* of these */
	/* what came by a pipe, and one more that each new session is to begin with, whose
	 * fd stays the caller's */
	struct session_file puts[OPT_LIST_MAX + 1];
	size_t put_count, own_puts; /* those opened here come first */
	struct text stepjail;       /* where that is, once there is a broker */
};

/**
 * jail_binds_make() - Look at the files of --file and say where they go
 * @b:		Zeroed; jail_binds_free() in any case. Pipes are read to their end
 * @streams:	Of each file, whether it is put in place as if it came by a pipe; or NULL
 *
 * Return: 0, or -errno with a line that names the file
 */
int jail_binds_make(const struct jail_options *o, const bool *streams, struct stop *stop,
		    struct jail_binds *b, struct err *e);

/** jail_binds_more() - Have one more file, in a folder of the jail; 0 or -E2BIG */
int jail_binds_more(struct jail_binds *b, const char *path, const char *folder,
		    const char *name, struct err *e);

/** jail_passed() - The value of one of the options that are handed on, or NULL */
const char *jail_passed(const struct opt_list *pass, const char *name);

/** jail_binds_free() - Free what there is */
void jail_binds_free(struct jail_binds *b);

/* further fields may follow @help_ */
#define PASS_ROW(name_, arg_, group, type, field, help_, ...)                            \
	{                                                                                \
		.name = name_, .arg = arg_, .help = help_,                               \
		OPT_ROW(group, PASS, type, field), __VA_ARGS__                           \
	}

/* rows of what is handed on to stepjail, and gives up no wall, for a struct with a struct
 * opt_list @field; also among JAIL_OPTS */
#define PASS_OPTS(type, field)                                                           \
	{ "memory", "SIZE", "512M", "Memory of the jail, files in its tmpfs included.",  \
	  OPT_COMMON(LIMITS, PASS, type, field) },                                       \
		PASS_ROW("keep-states", "NUMBER", LIMITS, type, field,                   \
			 "Earlier states to go back to, beside those that branches "     \
			 "are at."),                                                     \
		PASS_ROW("keep-memory", "SIZE", LIMITS, type, field,                     \
			 "Memory of these states together; the oldest are dropped "      \
			 "first."),                                                      \
		PASS_ROW("cpus", "NUMBER", LIMITS, type, field,                          \
			 "How many CPUs' time the jail may use."),                       \
		PASS_ROW("cpu-time", "TIME", LIMITS, type, field,                        \
			 "End a step after this much CPU time of all its processes "     \
			 "together."),                                                   \
		PASS_ROW("pids", "NUMBER", LIMITS, type, field,                          \
			 "Processes and threads of the jail."),                          \
		PASS_ROW("tmp-size", "SIZE", LIMITS, type, field,                        \
			 "Space in /tmp and /dev/shm together."),                        \
		PASS_ROW("work-size", "SIZE", LIMITS, type, field, "Space in /work."),   \
		PASS_ROW("lock-code", "[=auto|no|warm|yes]", JAIL, type, field,          \
			 "Forbid subprocesses (execve) and new executable memory; "      \
			 "auto is yes for the tree core, warm for data, no for "         \
			 "others; warm is yes in sessions from a template, and no "      \
			 "elsewhere."),                                                  \
		PASS_ROW("on-violation", "refuse|kill", JAIL, type, field,               \
			 "On a forbidden system call: refuse it with EPERM, or kill "    \
			 "the jail."),                                                   \
		PASS_ROW("deterministic", "[=no|yes]", REPEAT, type, field,              \
			 "The same hash seed, random numbers, order of files, locale "   \
			 "and time zone in each run, and one CPU."),                     \
		PASS_ROW("seed", "NUMBER", REPEAT, type, field,                          \
			 "Seed for the hashes and random numbers of --deterministic.",   \
			 .with = { "deterministic" }),                                   \
		PASS_ROW("aslr", "[=yes|no]", REPEAT, type, field,                       \
			 "Random memory addresses, or the same ones in each run."),      \
		PASS_ROW("clock-start", "DATE", REPEAT, type, field,                     \
			 "Start the jail's monotonic clocks at zero, and its Python's "  \
			 "wall clock at DATE, such as 2024-02-29T12:00:00Z, in each "    \
			 "session."),                                                    \
		PASS_ROW("media-limit", "SIZE", LIMITS, type, field,                     \
			 "Bytes of pictures, tables and other things that a step may "   \
			 "show beside its output; 0 for none.")

/* the same, of replay as well */
#define HOST_OPTS(type)                                                                  \
	PASS_ROW("allow-missing", "cgroup|audit", JAIL, type, jail.pass,                 \
		 "Run without cgroup limits where the host has no usable cgroup "        \
		 "v2, or without a record of violations where an outer sandbox "         \
		 "keeps it."),                                                           \
		PASS_ROW("policy", "FILE", JAIL, type, jail.pass,                        \
			 "Read more options for every jail from this file: see "         \
			 "stepjail(1)."),                                                \
	{                                                                                \
		"stepjail", "PATH", NULL,                                                \
			"The stepjail to start; without this, the one beside this "      \
			"program, else the one in PATH.",                                \
			OPT_ROW(JAIL, TEXT, type, jail.stepjail)                         \
	}

/* rows of a command's table, for a struct with a struct jail_options named jail */
#define JAIL_OPTS(type)                                                                  \
	{ "file", "PATH", NULL,                                                          \
	  "Show this file or folder, read-only, in the jail's /work/in. "                \
	  "A pipe, or - for stdin, is read to its end first, and is a "                  \
	  "file in /work. May be given up to 256 times.",                                \
	  OPT_COMMON(TASK, LIST, type, jail.files) },                                    \
		OPT_NUMBER("file-limit", "SIZE", "256M",                                 \
			   "Refuse a --file that is a pipe and holds more than this.",   \
			   1, (uint64_t)1 << 50,                                         \
			   OPT_ROW(TASK, SIZE, type, jail.file_limit_bytes),             \
			   .with = { "file" }),                                          \
		OPT_NUMBER("step-time", "TIME", "60s",                                   \
			   "Interrupt a step after this much time; kill it 2 "           \
			   "seconds later.",                                             \
			   100, 24 * HOUR_MS,                                            \
			   OPT_COMMON(LIMITS, TIME, type, jail.step_ms)),                \
		{ "rootfs", "NAME|DIR", "core",                                          \
		  "Root tree: the name of a shipped tree (core; data has numpy, "        \
		  "pandas and matplotlib), or a folder with a '/' in its path.",         \
		  OPT_COMMON(TASK, TEXT, type, jail.rootfs) },                           \
		PASS_OPTS(type, jail.pass), HOST_OPTS(type)

/* a row for a struct with a field named transcript */
#define TRANSCRIPT_OPT(type)                                                             \
	{                                                                                \
		"transcript", "FILE", NULL,                                              \
			"Record the run in this file, which must be new; none for no "   \
			"record. Without this option it is a new file in "               \
			"$XDG_STATE_HOME/stepjail/transcripts, or "                      \
			"~/.local/state/stepjail/transcripts.",                          \
			OPT_COMMON(RESULTS, TEXT, type, transcript)                      \
	}

/* a row for a struct with a bool named require_confinement */
#define CONFINE_OPT(type)                                                                \
	{                                                                                \
		"require-confinement", NULL, NULL,                                       \
			"Refuse to run where this kernel cannot keep the agent itself "  \
			"from other files and ports (Landlock; ports need Linux 6.7). "  \
			"Without this, a line on stderr says so.",                       \
			OPT_ROW(JAIL, FLAG, type, require_confinement)                   \
	}
