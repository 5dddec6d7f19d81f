/* SPDX-License-Identifier: MIT */
/*
 * task.h - what all who work on one task share: the loop, checks, tests, saved functions
 */
#pragma once

#include <cjson/cJSON.h>

#include "agent/budget/budget.h"
#include "agent/record/transcript.h"
#include "agent/session/run_once.h"
#include "agent/session/session.h"
#include "agent/show/show.h"

/* all of it is the caller's, and stays valid while the task runs; large */
struct task {
	const struct session_plan *plan; /* of the model's session; has the deadline */
	struct session *session;         /* the model's */
	struct budget *budget;
	struct transcript *transcript;
	struct show *show;
	const struct broker *broker;
	struct stop *stop;
	struct run_once once; /* of the last task_run() */
};

/** task_record() - Add a line to the transcript; @o is taken over; as transcript_add() */
int task_record(const struct task *t, const char *event, cJSON *o, struct err *e);

/**
 * task_run() - Run one of the broker's command lines in a jail of its own
 * @line:	As broker_add() said
 * @limit_ms:	What stepjail was told in it
 * @input:	Its stdin
 *
 * How it ended is in @t->once; the task's deadline holds, too. Return: as run_once()
 */
int task_run(struct task *t, int line, uint64_t limit_ms, const struct text *input,
	     struct err *e);
