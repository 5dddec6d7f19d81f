/* SPDX-License-Identifier: MIT */
/*
 * fault.h - what the parts of the fault matrix share
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* the plan of every jail here, for walls.c to compare with */
#define JAIL_HOSTNAME "faulty"
#define JAIL_FILES 64
#define JAIL_FILE_BYTES 1048576ULL
#define JAIL_PIDS 16
#define JAIL_MEMORY_BYTES 67108864ULL
#define JAIL_TMP_BYTES 1048576ULL
#define JAIL_WORK_BYTES 2097152ULL
#define JAIL_INODES 256

#define PATH_TEXT 16
#define DETAIL_TEXT 160

/* one system call of one process; processes are named by how they came to be: "0" is the
 * launcher, "0.1" the first process it made, "0.1.1" the first that this one made; but the
 * launcher's keeper is "keeper" */
struct call {
	char who[PATH_TEXT];
	long nr;
	unsigned int nth; /* of this nr in this process, from 1 */
	char detail[DETAIL_TEXT];
	bool late; /* the program was executing by then */
};

struct calls {
	struct call *at;
	size_t count, room;
};

struct fault {
	struct call call;
	int errnum; /* positive; 0: no fault */
};

/* how a launcher is started, and what it may leave */
struct setup {
	const char *launcher, *tree;
	char folder[200]; /* its current folder; absolute */
	uid_t uid;
	gid_t gid;
	bool cgroup;     /* limits are in force, and looked at */
	bool own_run;    /* /run is ours alone: the tracer is root */
	const char *who; /* pattern of those whose calls are recorded, or NULL: all */
};

struct result {
	bool hung, ran;
	bool hit;        /* the fault was made */
	struct call met; /* the call as it was met, for judging; valid if hit */
	int status;      /* of the launcher, as waitpid(2) gives it */
	char out[4096], err[4096];
	char outside[512]; /* walls that were missing as seen from outside */
	char left[512];    /* what was left behind */
};

/* a run as it is without a fault */
struct scenario {
	const char *name;
	const char *options[10];
	const char *program[6]; /* refuses a socket to itself in each */
	int status;
	const char *verdict;
};

extern const struct scenario scenarios[];
extern const size_t scenario_count;

/** scenario_learn_host() - Once, in the host's own namespaces: what the program is
 * told */
void scenario_learn_host(const struct setup *s);

/** scenario_clean() - Before each run: remove what a copier that was ended has left */
void scenario_clean(const struct setup *s);

/** scenario_prepare() - Make the folder and the files that runs need */
void scenario_prepare(const struct setup *s);

/** scenario_command() - The launcher's command line; valid until the next call */
char *const *scenario_command(const struct setup *s, const struct scenario *scenario);

/**
 * judge_run() - Is what became of a run allowed?
 * @f:		The fault that was met, NULL for none
 * @report:	Text of the report file, "" for none
 *
 * Return: what is wrong, NULL if nothing is
 */
const char *judge_run(const struct scenario *s, const struct fault *f,
		      const struct result *r, const char *report);

/** call_describe() - Say what a stopped process's call is about: path, fd, command */
void call_describe(pid_t pid, long nr, const unsigned long long *args, char *text);

/** call_name() - The name of a system call, from the table or "syscall N" */
const char *call_name(long nr);

/**
 * call_errnos() - Which errnos the call shall fail with
 *
 * Return: positive errnos, 0 at the end; an empty list for a call that is let alone
 */
const int *call_errnos(const struct call *call);

/** call_takes_place() - Does the kernel do the call's work even where it fails? */
bool call_takes_place(long nr);

/**
 * call_harmless() - May the run go on as if nothing had happened?
 *
 * Return: the reason, NULL where it may not
 */
const char *call_harmless(const struct call *call, int errnum);

/** outside_begin() - Remember what there is before a run */
void outside_begin(const struct setup *s);

/** outside_look() - What is wrong with the program's process @pid as the host sees it */
void outside_look(const struct setup *s, pid_t pid, char *text, size_t size);

/** outside_left() - What there is more than at outside_begin(), and take it away */
void outside_left(const struct setup *s, char *text, size_t size);

/**
 * launcher_become() - In a new process: become the launcher, when @go is at its end
 * @go, @out, @err:	Pipes; @out and @err become its stdout and stderr
 */
void launcher_become(const struct setup *s, const int *go, const int *out, const int *err,
		     char *const *argv) __attribute__((noreturn));

/** launcher_output() - Take what is in a pipe by now, and close it */
void launcher_output(int fd, char *text, size_t size);

/**
 * trace_run() - Run a launcher and all it makes, with at most one call failing
 * @fault:	NULL for none
 * @record:	Gets every call up to the program's exec, and of all but the program's
 * process after it; NULL for none
 */
void trace_run(const struct setup *s, char *const *argv, const struct fault *fault,
	       struct calls *record, struct result *r);
