/* SPDX-License-Identifier: MIT */
/*
 * task.c - what all who work on one task share, and a judge's jail: see task.h
 */
#include "agent/judge/task.h"

int task_record(struct task *t, const char *event, cJSON *o, struct err *e)
{
	return transcript_add(&t->transcript, &t->session, event, o, e);
}

int judge_open(struct judge *j, const struct task *t, struct jail_binds *binds,
	       uint64_t step_ms, struct err *e)
{
	j->plan = t->plan;
	j->plan.binds = binds;
	j->plan.step_ms = step_ms;
	j->plan.stateless = false;
	j->plan.heard = NULL; /* it is shown to nobody */
	return session_open(&j->session, &j->plan, t->stop, e);
}

int judge_run(struct judge *j, const char *source, const char *call, const char *words,
	      size_t length, struct step *step, struct err *e)
{
	cleanup_text struct text code = { 0 };

	text_printf(&code, "%s\n%s'", source, call);
	text_base64(&code, words, length);
	text_puts(&code, "')\n");
	return session_step(&j->session, code.bytes, code.length, step, e);
}
