/* SPDX-License-Identifier: MIT */
/*
 * fault.h - what the parts of the fault matrix share
 */
#ifndef STEPJAIL_TESTS_FAULT_FAULT_H
#define STEPJAIL_TESTS_FAULT_FAULT_H

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
 * launcher, "0.1" the first process it made, "0.1.1" the first that this one made */
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
	char folder[200];   /* its current folder; absolute */
	uid_t uid;
	gid_t gid;
	bool cgroup;	    /* limits are in force, and looked at */
	bool own_run;	    /* /run is ours alone: the tracer is root */
};

struct result {
	bool hung, ran;
	bool hit;	 /* the fault was made */
	struct call met; /* the call as it was met, for judging; valid if hit */
	int status;	 /* of the launcher, as waitpid(2) gives it */
	char out[4096], err[4096];
	char outside[512]; /* walls that were missing as seen from outside */
	char left[512];	   /* what was left behind */
};

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
 * trace_run() - Run a launcher and all it makes, with at most one call failing
 * @fault:	NULL for none
 * @record:	Gets every call up to the program's exec, and of all but the program's
 * process after it; NULL for none
 */
void trace_run(const struct setup *s, char *const *argv, const struct fault *fault,
	       struct calls *record, struct result *r);

#endif
