/* SPDX-License-Identifier: MIT */
/*
 * solve_end.c - the last words of a solve: see solve.h
 */
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/units.h"
#include "agent/cmd/solve.h"

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
	int status = loop_outcomes[end].status +
		     (end == OUTCOME_STOPPED ? s->task.stop->signal : 0);
	bool answered = end == OUTCOME_ANSWERED;
	bool why_told = !answered && end != OUTCOME_STOPPED;
	cleanup_json cJSON *o =
		record_result(loop_outcomes[end].name, answered ? &l->answer : NULL,
			      why_told ? why->text : NULL,
			      answered && s->loop.out.unwritten ? OUT_STATUS : status);
	cleanup_text struct text line = { 0 };

	json_add(o, "model", record_model(&s->loop.model));
	json_add(o, "steps", l->steps);
	l->steps = NULL;
	json_add(o, "usage", record_usage(&s->loop.model.usage));
	json_add(o, "budget", budget_json(&s->task.budget));
	json_add(o, "jails", s->task.session.jails);
	json_add(o, "jail", jail);
	checks_tell(&s->loop.checks, o);
	json_add(o, "confinement", confined_json(&s->task.confined));
	json_add(o, "wall_ms", (units_now_ms() - s->task.budget.started_ms));

	out_record(&s->loop.out, o);
	if (s->task.transcript.fd >= 0) {
		json_add(o, "transcript", &s->task.transcript.path);
		json_add(o, "transcript_sha256", s->task.transcript.chain.digest);
	}

	int r = record_print(o, &line, e);

	text_puts(&line, "\n");
	if (r == 0)
		r = stop_print(s->task.stop, &line, e);
	return r == -EINTR ? 0 : r;
}

static void show_usage(struct solve *s)
{
	const struct usage *u = &s->loop.model.usage;
	cleanup_text struct text line = { 0 };

	if (!u->prompt_tokens && !u->completion_tokens)
		return;
	text_printf(&line, "model: %s, %s sent",
		    units_say_things(u->requests, "request").text,
		    units_say_things(u->prompt_tokens, "token").text);
	if (u->cached_tokens)
		text_printf(&line, " (%" PRIu64 " from a cache)", u->cached_tokens);
	text_printf(&line, ", %" PRIu64 " received", u->completion_tokens);
	if (s->task.budget.priced)
		text_printf(&line, ", %s",
			    units_say_money(s->task.budget.used[BUDGET_COST_PICO]).text);
	if (u->judged)
		text_printf(
			&line,
			" (the server did not count all tokens of %s: estimated from bytes)",
			units_say_things(u->judged, "answer").text);
	show_note(&s->task.show, "%s", text_string(&line));
}

/* one terminal for both: what it has shown, it has shown */
static bool is_one_terminal(void)
{
	struct stat out, err;

	return isatty(STDOUT_FILENO) && fstat(STDOUT_FILENO, &out) == 0 &&
	       fstat(STDERR_FILENO, &err) == 0 && out.st_rdev == err.st_rdev;
}

/* the answer alone goes to stdout; to a terminal in marked lines */
int solve_print_answer(struct solve *s, struct err *e)
{
	const struct text *answer = &s->loop.answer;
	cleanup_text struct text lines = { 0 };
	struct show out;

	show_open(&out, STDOUT_FILENO, (enum show_color)s->o->color, s->task.stop);
	if (out.terminal && s->task.show.seen && !s->loop.reply.call_count &&
	    is_one_terminal()) {
		show_line(&s->task.show, "the answer is above");
		return 0;
	}
	if (out.terminal && !s->o->quiet) {
		show_answer(&out, text_string(answer), answer->length);
		return show_check(&out, e);
	}
	escape_lines(&lines, "", text_string(answer), answer->length);
	return stop_print(s->task.stop, &lines, e);
}

int solve_finish(struct solve *s, enum outcome end, struct err *e)
{
	struct err said = *e;
	cJSON *jail = s->o->json ? last_jail(&s->task.session) : NULL;
	int r = 0;

	/* its jails began with its steps */
	if (s->task.plan.stateless)
		show_not_enforced(&s->task.show, s->task.session.opened);
	session_close(&s->task.session);
	if (!s->o->json && !s->o->events && end == OUTCOME_ANSWERED)
		r = solve_print_answer(s, e);
	out_show(&s->loop.out, &s->task.show);
	show_usage(s);
	transcript_show(&s->task.transcript, &s->task.show);
	if (s->o->json)
		r = print_json(s, end, jail, &said, e);
	if (r < 0)
		return r;
	if (end == OUTCOME_STOPPED)
		return err_say(e, EINTR, "stopped by a signal");
	if (end == OUTCOME_BROKEN)
		return said.errnum ? -said.errnum : -EIO;
	if (end == OUTCOME_ANSWERED || end == OUTCOME_ENDED)
		return out_status(&s->loop.out, s->task.stop);
	stop_say(s->task.stop, said.text);
	return loop_outcomes[end].status;
}
