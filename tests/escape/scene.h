/* SPDX-License-Identifier: MIT */
/*
 * scene.h - what is put around a probe, outside the jail and inside
 *
 * A scene is the host's side: a secret file, a listener, a victim, a terminal. It is made
 * before each of a probe's runs and taken down after it. Inside, a run is `stepjail run`
 * with the user's own options and what the scene adds. Outside, the probe runs bare, or
 * as "root" of new namespaces where running it bare would be dangerous or mean nothing,
 * and where all that it can harm is its own. All files of a scene are open to all, so
 * that a file's mode never stands in for the wall that a probe is about.
 */
#pragma once

#include <limits.h>
#include <stdarg.h>

#include "tests/escape/probe.h"

#define PROBE_PATH "/stepjail-probe" /* in the jail */
#define SHOWN_PATH "/stepjail-scene" /* in the jail: a folder that a scene binds */
#define WORDS_MAX 160
#define SPARE_FDS 4

/* the plan's numbers that probes go beyond, out of `stepjail explain`; -1: unlimited */
struct limits {
	long long memory, tmp, work, file, wall_ms, cpu_ms, pids, files, inodes, output,
		file_locks;
	bool loopback, no_proc, locked, captured;
};

enum wrap {
	BARE,
	IN_NAMESPACES, /* root of new user, mount, PID, network, IPC and UTS namespaces */
	IN_MOUNTS,     /* root of new user and mount namespaces */
};

/* one run of one probe */
struct run {
	const struct probe *probe;
	const struct limits *limits;
	const char *self; /* this binary */
	/* a copy of it, which the jail is given: where it lies, nothing is mounted that a
	 * bind of its folder could not show */
	char bound[PATH_MAX];
	const char *launcher; /* stepjail */
	bool inside;
	char *user[WORDS_MAX];    /* the user's options, NULL at the end */
	char *options[WORDS_MAX]; /* of the launcher, by the scene */
	char *words[WORDS_MAX];   /* of the probe */
	const char *program;      /* in place of PROBE_PATH, or of this binary */
	size_t option_count, word_count;
	char folder[PATH_MAX]; /* the scene's own, new and empty for each run */
	char marker[40];       /* a word that is found nowhere else */
	const char *missing;   /* set by set_up: why the run cannot be */
	int fd[SPARE_FDS];     /* the scene's, closed after the run */
	pid_t helper;          /* the scene's, killed after the run */
	int input;             /* stdin of the run; -1: /dev/null */
	int output;            /* stdout of the run; -1: a pipe that is read */
	/* what came of it */
	int status;         /* wait status of the launcher or the probe */
	char text[8192];    /* the end of what the run printed on stdout */
	char errors[8192];  /* and on stderr */
	char report[16384]; /* the launcher's, "" without one */
	bool timed_out;
	bool refused;      /* the launcher has not started it */
	bool held_open;    /* a process kept stdout when the run was over */
	uint64_t bytes;    /* how many it printed */
	long before, most; /* a scene's own counts */
};

struct scene {
	enum wrap wrap;
	void (*set_up)(struct run *);  /* host side; sets missing if it cannot */
	void (*child)(struct run *);   /* in the child, before exec and any wrap */
	void (*outside)(struct run *); /* in the child, outside, within the wrap */
	int (*effect)(struct run *);   /* 1 opened, 0 held, -1: as the probe says */
	void (*tear_down)(struct run *);
	void (*sample)(struct run *); /* now and then, while it runs */
};

void run_option(struct run *r, const char *option, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void run_word(struct run *r, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* a path in the scene's folder; the text is static, and four of them live at once */
const char *run_path(const struct run *r, const char *name);

/* make a file or folder in the scene's folder, open to all */
void run_file(const struct run *r, const char *name, const char *text);
void run_folder(const struct run *r, const char *name);
void run_copy_self(const struct run *r, const char *name, mode_t mode);

/* is this in the report, as it is written there? */
bool run_reports(const struct run *r, const char *text);

/* start and end one run: see run.c */
void run_probe(struct run *r);
void run_end(struct run *r);

/* enter what a scene's probe runs in outside of the jail: see outside.c */
void outside_enter(enum wrap wrap);
void outside_bind(const char *source, const char *destination);

/* "opened", "held", "skip" or "failed", and the answer in words: see judge.c */
const char *judge_run(struct run *r, char *answer, size_t size);

/* what differs between inside and outside */
static inline const char *run_where(const struct run *r, const char *in, const char *out)
{
	return r->inside ? in : out;
}

#define SCENE(name) extern const struct scene scene_##name
SCENE(namespaces);
SCENE(on_init);
SCENE(as_root);
SCENE(secret);
SCENE(folder_stdin);
SCENE(path_stdin);
SCENE(memory_stdin);
SCENE(chroot);
SCENE(tree);
SCENE(host_paths);
SCENE(writable);
SCENE(user_outside);
SCENE(shown);
SCENE(shown_link);
SCENE(given_data);
SCENE(paths);
SCENE(open_bind);
SCENE(bent_bind);
SCENE(dotdot_bind);
SCENE(setuid_file);
SCENE(node);
SCENE(executable);
SCENE(given_file);
SCENE(given_pipe);
SCENE(leaked);
SCENE(leaked_chdir);
SCENE(leaked_exec);
SCENE(docker);
SCENE(segment);
SCENE(cgroup);
SCENE(victim);
SCENE(group);
SCENE(terminal);
SCENE(typed);
SCENE(abstract);
SCENE(abstract_datagram);
SCENE(loopback);
SCENE(loopback6);
SCENE(host_name);
SCENE(environment);
SCENE(two_jails);
SCENE(host_words);
SCENE(caller_id);
SCENE(judged);
SCENE(listed);
SCENE(locked);
SCENE(terminal_out);
SCENE(limits);
SCENE(nothing);
SCENE(pids);
SCENE(strays);
SCENE(inodes);
SCENE(file_locks);
SCENE(room);
SCENE(output_file);
SCENE(output);
SCENE(core);
SCENE(dentries);
SCENE(cpu);
SCENE(wall);
SCENE(planted);
SCENE(flight);
SCENE(left);
#undef SCENE
