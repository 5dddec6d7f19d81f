/* SPDX-License-Identifier: MIT */
/*
 * task.h - what all who work on one task share: the loop, checks, tests, saved functions
 */
#pragma once

#include <cjson/cJSON.h>

#include "agent/base/clip.h"
#include "agent/budget/budget.h"
#include "agent/record/transcript.h"
#include "agent/session/confined.h"
#include "agent/show/show.h"

/* how a run in a jail of its own ended: `stepjail run` */
struct run_once {
	struct verdict_facts facts;
	bool good;            /* it ended by itself, with exit status 0 */
	struct clip out, err; /* what it printed; of @err, stepjail's own lines too */
	uint64_t wall_ms;
};

/* the caller opens all of it, and closes it when the task has run; large */
struct task {
	struct confined confined;
	struct session_plan plan; /* of the model's session; has the deadline */
	struct session session;   /* the model's */
	struct budget budget;
	struct transcript transcript;
	struct show show;
	struct stop *stop;
	struct run_once once; /* of the last task_run() */
};

/** harness_tests - agent/judge/tests.py and cases.py in one, a NUL behind them */
extern const char harness_tests[];

/** task_record() - Add a line to the transcript; @o is taken over; as transcript_add() */
int task_record(struct task *t, const char *event, cJSON *o, struct err *e);

/**
 * task_run() - Run one of the broker's command lines to its end, in a jail of its own
 * @line:	As broker_add() said
 * @limit_ms:	What stepjail was told in it; it is ended some time later
 * @input:	Its stdin
 *
 * How it ended is in @t->once, with head and tail of what it printed. What stepjail
 * reports of that is believed only where the exit status of stepjail says the same.
 *
 * Return: 0, however it ended; -ENOTRECOVERABLE where it did not begin, with stepjail's
 * words; -ETIMEDOUT (the task's deadline), -EINTR (a signal), or -errno
 */
int task_run(struct task *t, int line, uint64_t limit_ms, const struct text *input,
	     struct err *e);
