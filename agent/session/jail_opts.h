/* SPDX-License-Identifier: MIT */
/*
 * jail_opts.h - the options of a session's jail, the same in each command that has one
 */
#ifndef STEPJAIL_AGENT_JAIL_OPTS_H
#define STEPJAIL_AGENT_JAIL_OPTS_H

#include "agent/base/text.h"
#include "agent/cli/options.h"
#include "agent/session/input_file.h"
#include "agent/session/session.h"

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

struct jail_binds {
	struct input_file *files; /* one for each --file */
	char *list[OPT_LIST_MAX]; /* "PATH:/work/in/NAME" */
	size_t count;             /* of these */
	/* what came by a pipe, and what else each new session is to begin with */
	struct session_file puts[OPT_LIST_MAX + 1];
	size_t put_count, own_puts; /* those opened here come first */
	struct text stepjail;       /* where that is, once there is a plan */
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

/** jail_binds_add() - One more file for each new session; its fd stays the caller's */
void jail_binds_add(struct jail_binds *b, const struct session_file *file);

/** jail_binds_more() - Have one more file, in a folder of the jail; 0 or -E2BIG */
int jail_binds_more(struct jail_binds *b, const char *path, const char *folder,
		    const char *name, struct err *e);

/**
 * jail_plan() - Find the stepjail that is to make the sessions
 * @p:		Its @stepjail and @output_limit are set; @b stays valid as long as it
 *
 * Return: 0, or as launch_find()
 */
int jail_plan(const struct jail_options *o, struct jail_binds *b,
	      const char *output_limit, struct session_plan *p, struct err *e);

/** jail_binds_free() - Free what there is */
void jail_binds_free(struct jail_binds *b);

/* rows of what is handed on to stepjail, and gives up no wall, for a struct with a struct
 * opt_list @field; also among JAIL_OPTS */
#define PASS_OPTS(type, field)                                                           \
	{ "memory", "SIZE", "512M", "The jail's memory; see stepjail(1).",               \
	  OPT_COMMON(LIMITS, PASS, type, field) },                                       \
		{ "keep-states", "N", NULL,                                              \
		  "How many earlier states are kept to go back to; see stepjail(1), "    \
		  "as for the next ones.",                                               \
		  OPT_ROW(LIMITS, PASS, type, field) },                                  \
		{ "keep-memory", "SIZE", NULL, "How much memory these may hold.",        \
		  OPT_ROW(LIMITS, PASS, type, field) },                                  \
		{ "cpus", "N", NULL, "The jail's share of processors.",                  \
		  OPT_ROW(LIMITS, PASS, type, field) },                                  \
		{ "cpu-time", "TIME", NULL, "Processor time of one step.",               \
		  OPT_ROW(LIMITS, PASS, type, field) },                                  \
		{ "pids", "N", NULL,                                                     \
		  "How many processes and threads the jail may hold.",                   \
		  OPT_ROW(LIMITS, PASS, type, field) },                                  \
		{ "tmp-size", "SIZE", NULL, "Size of the jail's /tmp.",                  \
		  OPT_ROW(LIMITS, PASS, type, field) },                                  \
		{ "work-size", "SIZE", NULL, "Size of the jail's /work.",                \
		  OPT_ROW(LIMITS, PASS, type, field) },                                  \
		{ "lock-code", "yes|no", NULL,                                           \
		  "Whether nothing may become code that was not; no, for subprocesses. " \
		  "Yes for "                                                             \
		  "the trees core and data.",                                            \
		  OPT_ROW(JAIL, PASS, type, field) },                                    \
		{ "on-violation", "refuse|kill", NULL,                                   \
		  "What a call that no honest step makes comes to; see stepjail(1).",    \
		  OPT_ROW(JAIL, PASS, type, field) },                                    \
		{ "deterministic", NULL, NULL,                                           \
		  "Give each run the same hash seed, random numbers, order of files, "   \
		  "locale and time zone, and one processor.",                            \
		  OPT_ROW(REPEAT, PASS, type, field) },                                  \
		{ "seed",                                                                \
		  "N",                                                                   \
		  NULL,                                                                  \
		  "Another of such hash seeds and random numbers.",                      \
		  OPT_ROW(REPEAT, PASS, type, field),                                    \
		  .with = { "deterministic" } },                                         \
		{ "aslr", "yes|no", NULL,                                                \
		  "Whether memory lies at random addresses, by which some sets are "     \
		  "ordered, or at the same ones.",                                       \
		  OPT_ROW(REPEAT, PASS, type, field) },                                  \
		{ "clock-start", "INSTANT", NULL,                                        \
		  "Start Python's clock at 2024-02-29T12:00:00Z or the like with "       \
		  "each session.",                                                       \
		  OPT_ROW(REPEAT, PASS, type, field) },                                  \
	{                                                                                \
		"media-limit", "SIZE", NULL,                                             \
			"How many bytes of pictures and tables a step may show.",        \
			OPT_ROW(LIMITS, PASS, type, field)                               \
	}

/* rows of a command's table, for a struct with a struct jail_options named jail */
#define JAIL_OPTS(type)                                                                  \
	{ "file", "PATH", NULL,                                                          \
	  "Put a file, or a folder, read-only, into the jail's /work/in. What a pipe "   \
	  "or - (stdin) gives is read first, and is a file in /work. May be given "      \
	  "again, up to 256 times.",                                                     \
	  OPT_COMMON(TASK, LIST, type, jail.files) },                                    \
		{ "file-limit",                                                          \
		  "SIZE",                                                                \
		  "256M",                                                                \
		  "How many bytes a --file that is a pipe may give.",                    \
		  OPT_ROW(TASK, SIZE, type, jail.file_limit_bytes),                      \
		  .min = 1,                                                              \
		  .max = (uint64_t)1 << 50,                                              \
		  .with = { "file" } },                                                  \
		{ "step-time",                                                           \
		  "TIME",                                                                \
		  "60s",                                                                 \
		  "Longest time for one step; then it is interrupted, 2 seconds later "  \
		  "killed.",                                                             \
		  OPT_COMMON(LIMITS, TIME, type, jail.step_ms),                          \
		  .min = 100,                                                            \
		  .max = 24 * HOUR_MS },                                                 \
		{ "rootfs", "NAME", "core", "The jail's root tree, a name or a folder.", \
		  OPT_COMMON(TASK, TEXT, type, jail.rootfs) },                           \
		PASS_OPTS(type, jail.pass),                                              \
		{ "allow-missing", "PART", NULL,                                         \
		  "Run without a wall that this host lacks (cgroup); see stepjail(1).",  \
		  OPT_ROW(JAIL, PASS, type, jail.pass) },                                \
		{ "policy", "FILE", NULL,                                                \
		  "Options for every jail, as stepjail(1) has them in a policy file.",   \
		  OPT_ROW(JAIL, PASS, type, jail.pass) },                                \
	{                                                                                \
		"stepjail", "PATH", NULL,                                                \
			"Where stepjail is; else beside this program, else in PATH.",    \
			OPT_ROW(JAIL, TEXT, type, jail.stepjail)                         \
	}

/* a row for a struct with a field named transcript */
#define TRANSCRIPT_OPT(type)                                                             \
	{                                                                                \
		"transcript", "FILE", NULL,                                              \
			"Record the run in this file, which must be new; none for no "   \
			"record. Without this option it is a new file below "            \
			"$XDG_STATE_HOME/stepjail/transcripts, or "                      \
			"~/.local/state/stepjail/transcripts.",                          \
			OPT_COMMON(RESULTS, TEXT, type, transcript)                      \
	}

/* a row for a struct with a bool named require_confinement */
#define CONFINE_OPT(type)                                                                \
	{                                                                                \
		"require-confinement", NULL, NULL,                                       \
			"Fail where this kernel cannot keep the agent itself to its "    \
			"files and ports (Landlock with ports: Linux 6.7).",             \
			OPT_ROW(JAIL, FLAG, type, require_confinement)                   \
	}

#endif
