/* SPDX-License-Identifier: MIT */
/*
 * violation.h - calls that the filter reports: each is answered, counted and remembered
 */
#pragma once

#include <stdio.h>
#include <sys/types.h>

#include <linux/seccomp.h>

#include "jail/plan/plan.h"

#define VIOLATION_KINDS_MAX 32 /* remembered one by one; the rest is counted */
#define VIOLATION_LABEL_MAX 96
#define VIOLATION_PER_S 1000  /* answers in a second, when there is a flood */
#define VIOLATION_BURST 200   /* answers without a pause, before it counts as one */
#define VIOLATION_PER_SERVE 8 /* answers in one go: the loop has other things to serve */

/* All calls with the same number, architecture and telling argument: call_telling() */
struct violation {
	struct seccomp_data first;  /* of the first of them */
	pid_t pid;                  /* of its thread, in the launcher's PID namespace */
	uint64_t first_ms, last_ms; /* since the program's start */
	uint64_t count;
	char label[VIOLATION_LABEL_MAX]; /* names of what its arguments ask for */
	bool violation; /* false: --learn alone hears of such a refused call */
};

enum notify_answer {
	NOTIFY_REFUSE,
	NOTIFY_CONTINUE,
	NOTIFY_NO_PROCESS, /* that the call means: ESRCH */
	NOTIFY_LATER,      /* the policy calls violation_let() later, or has done so */
};

/* Decides for a listener that the steps of a session share */
struct notify_policy {
	/* may this call of signal_guard.h go on? */
	enum notify_answer (*decide)(void *owner, const struct seccomp_notif *n);
	/* where calls of this thread are remembered; fd and budget of that are not used
	 * */
	struct violations *(*charge)(void *owner, pid_t thread);
	/* there was a violation, and --on-violation=kill: kill; the call is not answered
	 * */
	void (*kill)(void *owner, struct violations *charged,
		     const struct seccomp_notif *n);
	void *owner;
};

/* zeroed, but for fd, which is -1 */
struct violations {
	int fd; /* the listener; -1 where there is none */
	struct violation kind[VIOLATION_KINDS_MAX];
	unsigned int kinds;
	uint64_t total, beyond; /* all calls; those of kinds beyond VIOLATION_KINDS_MAX */
	unsigned int budget;    /* answers that may still be given */
	uint64_t refilled_ms;
	uint64_t debt;      /* what answers have cost beyond the budget */
	unsigned int lacks; /* walls that this host lacks, see denied_without.h */
	const struct notify_policy
		*policy; /* NULL: every call is refused, and kept here */
};

/**
 * violation_serve() - Answer and remember the calls that wait at the listener
 * @now_ms:	Milliseconds since the program's start
 *
 * The answer is EPERM, but for signals that a policy lets through; nothing of the
 * program's memory is read. A few calls are answered at a time, and at most 1,000 in a
 * second; the others wait. See seccomp_unotify(2).
 *
 * Return: 0, 1 (a violation that must end the jail by --on-violation=kill, where there is
 * no policy; that call is not answered), or -errno: a call may then wait for ever for an
 * answer, and the jail must end
 */
int violation_serve(struct violations *v, const struct plan *p, uint64_t now_ms);

/**
 * violation_let() - Answer a call that was held
 * @error:	-errno for it, or 0: it goes on
 *
 * Return: 1, 0 when it is held no more, or -errno
 */
int violation_let(int fd, uint64_t id, int error);

/** violation_holds() - Does the kernel still hold the thread that made this call? */
bool violation_holds(int fd, uint64_t id);

/**
 * violation_wait_ms() - Milliseconds until the listener may be served again, 0 for now
 *
 * Inline, as the launcher calls it while it still has its rights: nothing else of
 * violation.c runs with any.
 */
static inline uint64_t violation_wait_ms(struct violations *v, uint64_t now_ms)
{
	/* the stored time is one more than the clock's, so that 0 means "never" */
	uint64_t since_ms =
		v->refilled_ms ? now_ms + 1 - v->refilled_ms : VIOLATION_BURST;
	uint64_t gained = since_ms * VIOLATION_PER_S / 1000;
	uint64_t paid = gained < v->debt ? gained : v->debt;
	uint64_t budget = v->budget + gained - paid;

	if (since_ms) {
		v->refilled_ms = now_ms + 1;
		v->debt -= paid;
		v->budget =
			budget > VIOLATION_BURST ? VIOLATION_BURST : (unsigned int)budget;
	}
	/* long enough for several answers, so that not each has a wake-up of its own */
	return v->budget ? 0 : VIOLATION_PER_SERVE * 1000 / VIOLATION_PER_S;
}

/**
 * violation_print() - Write the report's "violations": an object, null without listener
 */
void violation_print(const struct violations *v, bool listened, FILE *out);

/** violation_name() - The first violation's name, NULL for none */
const char *violation_name(const struct violations *v);

/**
 * violation_learn() - Print the policy rows that would allow the refused calls
 *
 * A call that no policy may allow becomes a comment that says why.
 */
void violation_learn(const struct violations *v, const struct plan *p, FILE *out);

/** violation_hint() - What would allow the violations of these, for a person; never
 * NULL */
const char *violation_hint(const struct violations *v, bool locked);

struct denied_without_row;

/** denied_why() - The row that refuses a call where a wall lacks, or NULL. @lacks: from
 * denied_without_lacks() */
const struct denied_without_row *denied_why(unsigned int lacks,
					    const struct seccomp_data *data);

/** denied_print() - Write the member "shut", an array: names of calls, each once */
void denied_print(unsigned int lacks, FILE *out);

/** violation_tell() - Print that to stderr, in one piece. Return: 0, or -errno */
int violation_tell(const struct violations *v, bool listened, const struct plan *p,
		   struct err *e);
