/* SPDX-License-Identifier: MIT */
/*
 * task.h - what all who work on one task share: the loop, checks, tests
 */
#pragma once

#include "agent/budget/budget.h"
#include "agent/record/transcript.h"
#include "agent/session/confined.h"

/* the caller opens all of it, and closes it when the task has run; large */
struct task {
	struct confined confined;
	struct session_plan plan; /* of the model's session; has the deadline */
	struct session session;   /* the model's */
	struct budget budget;
	struct transcript transcript;
	struct show show;
	struct stop *stop;
};

/* a jail of a judge's own, in which no code of the model's has run: in a further
 * stepjail, whose jails are made as the model's are */
struct judge {
	struct session_plan plan;
	struct session session;
	struct step step; /* the last one, unless another is named */
};

/**
 * judge_open() - Start it, and its first session
 * @binds:	What is put into each of its sessions; stays valid
 * @step_ms:	Its steps' limit
 *
 * session_close() ends it.
 *
 * Return: as session_open()
 */
int judge_open(struct judge *j, const struct task *t, struct jail_binds *binds,
	       uint64_t step_ms, struct err *e);

/**
 * judge_run() - Run a judge's code as a step
 * @source:	Python, whose function is called
 * @call:	That, up to its last argument, as in "judge(look_at_tests, "
 * @words:	The last argument: any bytes, which the function gets as base64
 * @step:	Overwritten
 *
 * Return: 0, however it ended, or as session_step()
 */
int judge_run(struct judge *j, const char *source, const char *call, const char *words,
	      size_t length, struct step *step, struct err *e);

/** task_record() - Add a line to the transcript; @o is taken over; as transcript_add() */
int task_record(struct task *t, const char *event, cJSON *o, struct err *e);
