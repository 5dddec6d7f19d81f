/* SPDX-License-Identifier: MIT */
/*
 * solve_end.c - the last words of a solve: see solve.h
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/escape.h"
#include "agent/base/units.h"
#include "agent/cmd/solve.h"
#include "init/io.h"

/* null where none was opened; its posture is in the transcript */
static cJSON *last_jail(const struct session *s)
{
	cJSON *o = s->opened ? record_session(s) : cJSON_CreateNull();

	cJSON_DeleteItemFromObjectCaseSensitive(o, "posture");
	return o;
}

/* @jail: taken over */
static int print_json(struct solve *s, enum outcome end, cJSON *jail,
		      const struct err *why, struct err *e)
{
	struct loop *l = &s->loop;
	int status =
		loop_outcome_status(end) + (end == OUTCOME_STOPPED ? s->stop->signal : 0);
	bool answered = end == OUTCOME_ANSWERED;
	bool why_told = !answered && end != OUTCOME_STOPPED;
	cJSON *o = record_result(loop_outcome_name(end), answered ? &l->answer : NULL,
				 why_told ? why->text : NULL,
				 answered && s->out.unwritten ? OUT_STATUS : status);
	cJSON *checks = checks_json(&s->checks);
	cleanup_text struct text line = { 0 };

	(void)cJSON_AddItemToObject(o, "model", record_model(&s->model));
	(void)cJSON_AddStringToObject(o, "mode", s->mode.mode->name);
	(void)cJSON_AddItemToObject(o, "steps", l->steps);
	l->steps = NULL;
	(void)cJSON_AddItemToObject(o, "usage", record_usage(&s->model.usage));
	(void)cJSON_AddItemToObject(o, "budget", budget_json(&s->budget));
	(void)cJSON_AddNumberToObject(o, "jails", s->session.jails);
	(void)cJSON_AddItemToObject(o, "jail", jail);
	if (checks)
		(void)cJSON_AddItemToObject(o, "checks", checks);
	if (s->skills.told)
		(void)cJSON_AddItemToObject(o, "saved", s->skills.told);
	s->skills.told = NULL;
	(void)cJSON_AddItemToObject(o, "confinement", confined_json(&s->confined));
	(void)cJSON_AddNumberToObject(o, "wall_ms",
				      (double)(units_now_ms() - s->budget.started_ms));

	out_record(&s->out, o);
	if (s->transcript.fd >= 0) {
		record_text(o, "transcript", &s->transcript.path);
		(void)cJSON_AddStringToObject(o, "transcript_sha256",
					      s->transcript.chain.digest);
	}

	int r = record_print(o, &line, e);

	cJSON_Delete(o);
	text_puts(&line, "\n");
	if (r == 0)
		r = stop_print(s->stop, &line, e);
	return r == -EINTR ? 0 : r;
}

static void show_usage(struct solve *s)
{
	const struct usage *u = &s->model.usage;
	cleanup_text struct text line = { 0 };
	char cost[32];

	if (!u->prompt_tokens && !u->completion_tokens)
		return;
	text_puts(&line, "model: ");
	text_count(&line, u->requests, "request");
	text_puts(&line, ", ");
	text_count(&line, u->prompt_tokens, "token");
	text_puts(&line, " sent");
	if (u->cached_tokens)
		text_printf(&line, " (%" PRIu64 " from a cache)", u->cached_tokens);
	text_printf(&line, ", %" PRIu64 " received", u->completion_tokens);
	if (s->budget.priced)
		text_printf(&line, ", %s",
			    units_say_money(s->budget.used[BUDGET_COST_PICO], cost,
					    sizeof(cost)));
	if (u->judged) {
		text_puts(&line, " (the server did not count all tokens of ");
		text_count(&line, u->judged, "answer");
		text_puts(&line, ": estimated from bytes)");
	}
	show_note(&s->show, text_string(&line));
}

int solve_finish(struct solve *s, enum outcome end, struct err *e)
{
	struct err said = *e;
	cJSON *jail = s->o->json ? last_jail(&s->session) : NULL;
	int r = 0;

	/* its jails began with its steps */
	if (s->stateless && !s->o->quiet)
		show_not_enforced(s->stop, s->session.opened);
	session_close(&s->session);
	out_show(&s->out, &s->show);
	show_usage(s);
	transcript_show(&s->transcript, &s->show);
	if (s->o->json) {
		r = print_json(s, end, jail, &said, e);
	} else if (s->o->quiet && end == OUTCOME_ANSWERED) {
		cleanup_text struct text out = { 0 };

		escape_lines(&out, "", text_string(&s->loop.answer),
			     s->loop.answer.length);
		r = stop_print(s->stop, &out, e);
	}
	if (r < 0)
		return r;
	if (end == OUTCOME_STOPPED)
		return err_say(e, EINTR, "stopped by a signal");
	if (end == OUTCOME_BROKEN)
		return said.errnum ? -said.errnum : -EIO;
	if (end == OUTCOME_ANSWERED)
		return out_status(&s->out, s->stop);

	cleanup_text struct text line = { 0 };

	text_puts(&line, "stepjail-agent: ");
	escape_line(&line, said.text, strlen(said.text));
	text_puts(&line, "\n");
	(void)stop_write(s->stop, STDERR_FILENO, text_string(&line), line.length);
	return loop_outcome_status(end);
}
