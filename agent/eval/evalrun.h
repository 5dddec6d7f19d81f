/* SPDX-License-Identifier: MIT */
/*
 * evalrun.h - run a set of tasks, each in a fresh jail, some at a time
 */
#ifndef STEPJAIL_AGENT_EVALRUN_H
#define STEPJAIL_AGENT_EVALRUN_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/base/stop.h"
#include "agent/cli/options.h"
#include "agent/eval/evalset.h"
#include "agent/session/broker.h"
#include "agent/session/verdict.h"

#define EVALRUN_JOBS_MAX 64
#define EVALRUN_ERROR_BYTES 160

struct eval_result {
	bool passed;
	enum verdict verdict; /* how the jail ended */
	uint64_t wall_ms;
	char error[EVALRUN_ERROR_BYTES]; /* last line of the error, escaped; or empty */
};

struct evalrun_plan {
	const struct broker *broker; /* was given evalrun_args() */
	const char *rootfs;
	const struct opt_list *pass; /* for stepjail, as in struct session_plan */
	enum eval_body body;
	uint64_t task_ms; /* wall-clock limit of one task */
	uint64_t jobs;    /* at most EVALRUN_JOBS_MAX */
	struct stop *stop;
	/* a task has ended; 0, or -errno to stop everything */
	int (*ended)(void *arg, size_t task, const struct eval_result *result,
		     struct err *e);
	void *ended_arg;
};

/** evalrun_args() - The arguments of each stepjail */
void evalrun_args(const struct evalrun_plan *p, struct launch_args *a);

/**
 * evalrun() - Run all tasks
 * @results:	One for each task
 *
 * A task passes only where the judge in the jail wrote this task's secret to stdout and
 * nothing else, and ended with status 0 (harness.py).
 *
 * Return: 0, -EINTR (a signal came), or -errno where stepjail cannot run at all
 */
int evalrun(const struct evalset *set, const struct evalrun_plan *plan,
	    struct eval_result *results, struct err *e);

#endif
