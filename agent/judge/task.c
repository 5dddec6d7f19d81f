/* SPDX-License-Identifier: MIT */
/*
 * task.c - what all who work on one task share: see task.h
 */
#include "agent/judge/task.h"

int task_record(const struct task *t, const char *event, cJSON *o, struct err *e)
{
	return transcript_add(t->transcript, t->session, event, o, e);
}

int task_run(struct task *t, int line, uint64_t limit_ms, const struct text *input,
	     struct err *e)
{
	const struct run_once_plan plan = {
		.broker = t->broker,
		.line = line,
		.stop = t->stop,
		.limit_ms = limit_ms,
		.deadline_ms = t->plan->deadline_ms,
	};

	return run_once(&plan, text_string(input), input->length, &t->once, e);
}
