/* SPDX-License-Identifier: MIT */
/*
 * loop.c - write, execute, observe: see loop.h
 */
#include <errno.h>
#include <string.h>

#include "agent/loop.h"
#include "agent/units.h"

/* exit statuses are listed for users in main.c's exits[] */
static const struct {
	const char *name;
	int status;
} outcomes[OUTCOME_COUNT] = {
	[OUTCOME_ANSWERED] = { "answered", 0 },   [OUTCOME_STEPS] = { "steps-ended", 3 },
	[OUTCOME_WALL] = { "wall-timeout", 124 }, [OUTCOME_MODEL] = { "model-failed", 4 },
	[OUTCOME_STOPPED] = { "stopped", 128 }, /* plus the signal */
	[OUTCOME_BROKEN] = { "failed", 125 },
};

#define GO_ON ((enum outcome)OUTCOME_COUNT) /* no outcome yet */

static const char cut_off[] = "Your reply was cut off before its end, so nothing was run "
			      "and it was not taken for "
			      "an answer. Send less at a time.";

const char *loop_outcome_name(enum outcome o)
{
	return outcomes[o].name;
}

int loop_outcome_status(enum outcome o, int signal)
{
	return outcomes[o].status + (o == OUTCOME_STOPPED ? signal : 0);
}

static enum outcome broken(int r)
{
	return r == -EINTR ? OUTCOME_STOPPED : OUTCOME_BROKEN;
}

static int record_event(struct loop *l, const char *event, cJSON *o, struct err *e)
{
	(void)cJSON_AddStringToObject(o, "event", event);
	return transcript_add(l->transcript, o, e);
}

static int begin(struct loop *l, struct err *e)
{
	cleanup_text struct text system = { 0 };
	cleanup_text struct text task = { 0 };
	cJSON *o = cJSON_CreateObject();

	prompt_system(&l->limits, &system);
	prompt_task(l->task, l->files, l->file_count, &task);
	record_string(o, "model", text_string(&l->model->label), l->model->label.length);
	(void)cJSON_AddItemToObject(o, "confinement", l->confinement);
	l->confinement = NULL;
	record_string(o, "system", text_string(&system), system.length);
	record_string(o, "user", text_string(&task), task.length);

	int r = record_event(l, "start", o, e);

	if (r == 0)
		r = text_check(&task, "the task", e);
	if (r == 0)
		r = chat_add(&l->chat, ROLE_SYSTEM, text_string(&system), system.length,
			     e);
	if (r == 0)
		r = chat_add(&l->chat, ROLE_USER, text_string(&task), task.length, e);
	l->steps = cJSON_CreateArray();
	return r;
}

static enum outcome ask(struct loop *l, struct err *e)
{
	cJSON *o = cJSON_CreateObject();
	int r = model_ask(l->model, &l->chat, l->deadline_ms, &l->reply, e);

	if (r < 0) {
		cJSON_Delete(o);
		return r == -EINTR       ? OUTCOME_STOPPED
		       : r == -ETIMEDOUT ? OUTCOME_WALL
					 : OUTCOME_MODEL;
	}
	record_string(o, "text", text_string(&l->reply.text), l->reply.text.length);
	(void)cJSON_AddItemToObject(o, "usage", record_usage(&l->model->usage));
	r = record_event(l, "reply", o, e);
	if (r == 0)
		r = chat_add(&l->chat, ROLE_ASSISTANT, text_string(&l->reply.text),
			     l->reply.text.length, e);
	return r < 0 ? broken(r) : GO_ON;
}

/* what was wrong with the reply, or NULL where it is code or an answer */
static const char *complaint(const struct loop *l)
{
	bool whole = l->reply.finish == FINISH_STOP;

	if (l->found.kind == EXTRACT_CODE && !l->found.closed && !whole)
		return cut_off;
	if (l->found.kind == EXTRACT_ANSWER && l->reply.finish == FINISH_LENGTH)
		return cut_off;
	return extract_complaint(l->found.kind);
}

static int observe(struct loop *l, uint64_t number, const struct text *observation,
		   bool ran, struct err *e)
{
	const struct text *code = ran ? &l->found.code : NULL;
	const struct step *step = ran ? l->step : NULL;
	cJSON *o = record_step(number, code, step, observation);
	int r = text_check(observation, "an observation", e);

	if (!cJSON_AddItemToArray(l->steps, cJSON_Duplicate(o, true)))
		r = err_set(e, ENOMEM, "the list of steps");
	if (r < 0) {
		cJSON_Delete(o);
		return r;
	}
	r = record_event(l, "step", o, e);
	return r < 0 ? r
		     : chat_add(&l->chat, ROLE_USER, text_string(observation),
				observation->length, e);
}

static enum outcome take_step(struct loop *l, uint64_t number, struct err *e)
{
	cleanup_text struct text observation = { 0 };
	const char *words = complaint(l);
	uint64_t total = l->limits.steps;
	int r = 0;

	if (words) {
		show_code(l->show, number, total, "", 0);
		show_note(l->show, words);
		prompt_complaint(words, number, total, &observation);
	} else {
		show_code(l->show, number, total, text_string(&l->found.code),
			  l->found.code.length);
		r = session_step(l->session, text_string(&l->found.code),
				 l->found.code.length, l->step, e);
		if (r < 0)
			return broken(r);
		show_step(l->show, l->step);
		show_said(l->show, &l->session->serve.diag);
		prompt_observation(l->step, number, total, l->found.imitated,
				   &observation);
	}
	r = observe(l, number, &observation, !words, e);
	if (r < 0)
		return broken(r);
	return !words && l->step->budget ? OUTCOME_WALL : GO_ON;
}

static enum outcome turn(struct loop *l, uint64_t number, struct err *e)
{
	enum outcome end = ask(l, e);
	int r;

	if (end != GO_ON)
		return end;
	text_free(&l->found.code);
	r = extract_code(text_string(&l->reply.text), l->reply.text.length, &l->found, e);
	if (r < 0)
		return broken(r);
	if (l->found.kind == EXTRACT_ANSWER && !complaint(l)) {
		text_add(&l->answer, l->reply.text.bytes, l->reply.text.length);
		show_answer(l->show, text_string(&l->answer), l->answer.length);
		r = text_check(&l->answer, "the answer", e);
		return r < 0 ? broken(r) : OUTCOME_ANSWERED;
	}
	if (number > l->limits.steps)
		return OUTCOME_STEPS;
	return take_step(l, number, e);
}

enum outcome loop_run(struct loop *l, struct err *e)
{
	enum outcome end = GO_ON;
	int r = begin(l, e);

	if (r < 0)
		return broken(r);
	for (uint64_t number = 1; end == GO_ON; number++) {
		end = turn(l, number, e);
		if (l->show->failed == EINTR)
			end = OUTCOME_STOPPED;
		else if (l->show->failed) {
			(void)err_set(e, l->show->failed, "cannot write to stdout");
			end = OUTCOME_BROKEN;
		} else if (end == GO_ON && units_left_ms(l->deadline_ms) == 0) {
			end = OUTCOME_WALL;
		}
	}

	cJSON *o = cJSON_CreateObject();
	struct err unheard;

	(void)cJSON_AddStringToObject(o, "outcome", loop_outcome_name(end));
	record_string(o, "answer", text_string(&l->answer), l->answer.length);
	r = record_event(l, "end", o, end == OUTCOME_BROKEN ? &unheard : e);
	return r < 0 ? OUTCOME_BROKEN : end;
}

void loop_free(struct loop *l)
{
	chat_free(&l->chat);
	text_free(&l->reply.text);
	text_free(&l->found.code);
	text_free(&l->answer);
	cJSON_Delete(l->steps);
	l->steps = NULL;
	cJSON_Delete(l->confinement);
	l->confinement = NULL;
}
