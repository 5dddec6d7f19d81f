/* SPDX-License-Identifier: MIT */
/*
 * loop.c - write, execute, observe: see loop.h
 */
#include <ctype.h>

#include "agent/base/units.h"
#include "agent/loop/loop.h"
#include "agent/loop/prompt.h"
#include "agent/model/fence.h"
#include "agent/model/tool.h"
#include "init/io.h"

/* exit statuses are listed for users in main.c's exits[] */
const struct loop_outcome loop_outcomes[OUTCOME_COUNT] = {
	[OUTCOME_ANSWERED] = { "answered", 0 },
	[OUTCOME_ENDED] = { "ended", 0 },
	[OUTCOME_STEPS] = { "steps-ended", 3 },
	[OUTCOME_WALL] = { "wall-timeout", 124 },
	[OUTCOME_BUDGET] = { "budget-ended", 3 },
	[OUTCOME_MODEL] = { "model-failed", 4 },
	[OUTCOME_REFUSED] = { "refused", 5 },
	[OUTCOME_STOPPED] = { "stopped", 128 }, /* plus the signal */
	[OUTCOME_BROKEN] = { "failed", 125 },
};

static const char cut_off[] =
	"Your reply was cut off before its end, so nothing was run and it was not taken for an answer. Send less at a time.";

enum outcome loop_broken(int r)
{
	return r == -EINTR ? OUTCOME_STOPPED : OUTCOME_BROKEN;
}

int loop_hear(struct loop *l, const char *words, struct err *e)
{
	cJSON *o = cJSON_CreateObject();

	json_add(o, "text", words);
	/* an answer that was a call */
	chat_settle(&l->chat, "This was taken as your answer.");
	chat_add(&l->chat, ROLE_USER, words, strlen(words));
	return task_record(l->task, "user", o, e);
}

int loop_begin(struct loop *l, struct err *e)
{
	const struct session_plan *plan = &l->task->plan;
	cleanup_text struct text system = { 0 };
	cleanup_text struct text task = { 0 };
	cJSON *o = cJSON_CreateObject();

	prompt_system(l, &system);
	/* not known where the judge's jail could not be started */
	if (l->tests.number)
		tests_words(&l->tests, &system);
	text_add(&system, l->preface.bytes, l->preface.length);
	if (l->rules.length)
		text_printf(&system, "\n%s\n", text_string(&l->rules));
	if (l->asked)
		prompt_task(l->asked, plan->binds->files, plan->jail->files.count, &task);
	json_add(o, "command", l->asked ? "solve" : "chat");
	record_origin(o);
	json_add(o, "model", record_model(&l->model));
	json_add(o, "confinement", confined_json(&l->task->confined));
	json_add(o, "system", &system);
	if (l->asked)
		json_add(o, "user", &task);

	json_add(o, "inputs", cJSON_Duplicate(l->given, true));
	json_add(o, "continues", l->continues); /* none adds nothing */
	l->continues = NULL;

	int r = task_record(l->task, "start", o, e);

	if (r == 0)
		r = text_check(&system, "the prompt", e);
	if (r == 0)
		r = text_check(&task, "the task", e);
	chat_add(&l->chat, ROLE_SYSTEM, text_string(&system), system.length);
	if (r == 0 && l->earlier)
		r = l->earlier(l->earlier_arg, e);
	l->before = l->done;
	text_puts(&task, l->note ? l->note : "");
	if (r == 0 && l->earlier && task.length)
		r = loop_hear(l, text_string(&task), e);
	else if (l->asked)
		chat_add(&l->chat, ROLE_USER, text_string(&task), task.length);
	l->steps = cJSON_CreateArray();
	return r;
}

/* find the code in the reply, or what is wrong with it */
static int understand(struct loop *l, struct err *e)
{
	const struct text *said = &l->reply.text;

	text_free(&l->found.code);
	text_clear(&l->complaint);
	text_clear(&l->prose);
	if (l->reply.call_count)
		tool_read(&l->reply, l->model.plan->tools, &l->found, &l->complaint);
	else if (!l->model.plan->tools)
		extract_code(text_string(said), said->length, &l->found, &l->prose);
	else if (fence_blank((struct span){ text_string(said), said->length }))
		l->found = (struct extract){ .kind = EXTRACT_SILENCE, .closed = true };
	else
		l->found = (struct extract){ .kind = EXTRACT_ANSWER, .closed = true };

	if (l->reply.call_count)
		text_add(&l->prose, said->bytes, said->length);

	bool whole = l->reply.finish == FINISH_STOP;
	bool cut = l->reply.finish == FINISH_LENGTH;

	const char *words = extract_complaint(l->found.kind);

	if ((l->found.kind == EXTRACT_CODE && !l->found.closed && !whole) ||
	    (cut && (l->found.kind == EXTRACT_ANSWER ||
		     l->found.kind == EXTRACT_SILENCE || l->complaint.length))) {
		text_clear(&l->complaint);
		words = cut_off;
	}
	if (!l->complaint.length && words)
		text_puts(&l->complaint, words);
	return text_check(&l->complaint, "a complaint", e);
}

/* @observation: NULL where the run ends in the step */
static int observe(struct loop *l, uint64_t number, const struct text *observation,
		   bool ran, struct err *e)
{
	const struct text *code = ran ? &l->found.code : NULL;
	const struct step *step = ran ? &l->step : NULL;
	cJSON *o = record_step(number, code, step, observation);

	json_add(o, "prose", &l->prose);
	(void)cJSON_AddItemToArray(l->steps, cJSON_Duplicate(o, true));

	int r = task_record(l->task, "step", o, e);

	if (r < 0 || !observation)
		return r;
	chat_add_observation(&l->chat, text_string(observation), observation->length);
	return text_check(observation, "an observation", e);
}

/* a step that had begun is in the record, also where the run ends in it */
static enum outcome end_in_step(struct loop *l, uint64_t number, int r)
{
	struct err unheard;

	budget_step(&l->task->budget, &l->step);
	(void)observe(l, number, NULL, true, &unheard);
	show_step(&l->task->show, &l->step);
	return loop_broken(r);
}

/* what one step may still use of the processor */
static void limit_cpu(struct task *t)
{
	const char *option = jail_passed(&t->plan.jail->pass, "cpu-time");
	uint64_t left_ms = budget_left(&t->budget, BUDGET_CPU_MS);
	uint64_t step_ms = BUDGET_NONE;
	struct session *s = &t->session;

	/* stepjail has found it to be a time */
	if (option)
		(void)units_parse_time(option, &step_ms);
	s->cpu_of_task = left_ms < step_ms;
	s->cpu_ms = left_ms == BUDGET_NONE ? 0 : left_ms < step_ms ? left_ms : step_ms;
}

static enum outcome take_step(struct loop *l, uint64_t number, struct err *e)
{
	cleanup_text struct text observation = { 0 };
	bool run = !l->complaint.length;
	struct show *show = &l->task->show;
	struct budget *budget = &l->task->budget;
	uint64_t total = l->before + budget->limit[BUDGET_STEPS];
	int r = 0;

	l->done = number;
	/* whoever is asked is shown what would run: a reply has more, and in another
	 * order */
	show_code(show, number, total, text_string(&l->found.code),
		  run ? l->found.code.length : 0,
		  !l->reply.call_count && l->asker.fd < 0);
	if (run && l->asker.fd >= 0) {
		enum outcome end = confirm_step(l, number, e);

		if (end != LOOP_GO_ON)
			return end;
		run = !l->complaint.length;
	}
	if (!run) {
		show_notes(show, text_string(&l->complaint));
		text_printf(&observation, "Step %" PRIu64 " of %" PRIu64 ": %s\n", number,
			    total, text_string(&l->complaint));
	} else {
		limit_cpu(l->task);
		/* what is run is in the transcript before it runs */
		r = task_record(
			l->task, "code",
			record_code(number, &l->found.code, l->task->session.cpu_ms), e);
		if (r < 0)
			return loop_broken(r);
		r = session_step(&l->task->session, text_string(&l->found.code),
				 l->found.code.length, &l->step, e);
		shown_save(&l->shown, number, l->step.media);
		if (r < 0)
			return end_in_step(l, number, r);
		prompt_observation(&l->step, number, total, l->found.imitated,
				   &observation);
		loop_see(l, l->step.media, &observation);
	}
	budget_step(budget, run ? &l->step : NULL);
	budget_tell(budget, &observation);
	r = observe(l, number, &observation, run, e);
	if (r < 0)
		return loop_broken(r);
	if (run) {
		show_step(show, &l->step);
		shown_show(l->step.media, show);
		show_said(show, &l->task->session.serve.diag);
	}
	if (budget->priced)
		show_note(show, "%s so far",
			  units_say_money(budget->used[BUDGET_COST_PICO]).text);
	return run && l->step.budget ? loop_ended(l, BUDGET_WALL_MS, e) : LOOP_GO_ON;
}

/* 1: it stands, all judges let it; 0: it does not, and the complaint says why; or
 * -errno */
static int judged(struct loop *l, struct err *e)
{
	const struct text *said = l->reply.call_count ? &l->found.code : &l->reply.text;
	struct text *words = &l->complaint;
	int r = 1;

	text_add(&l->answer, said->bytes, said->length);
	if (l->tests.count)
		r = tests_ask(&l->tests, words, e);
	if (r > 0)
		r = checks_ask(&l->checks, CHECKS_ANSWER, &l->answer, words, e);
	if (r >= 0 && text_check(words, "a judge's words", e) < 0)
		r = -e->errnum;
	if (r <= 0)
		text_clear(&l->answer);
	l->refused = l->refused || r == 0;
	return r;
}

/* what the user has to say about the reply; 0, or -errno */
static int checked(struct loop *l, struct err *e)
{
	cleanup_text struct text words = { 0 };
	int r = checks_reply(&l->checks, &l->reply, &l->found.code, &words, e);

	if (r != 0)
		return r < 0 ? r : 0;
	text_clear(&l->complaint);
	text_add(&l->complaint, words.bytes, words.length);
	return text_check(&l->complaint, "a check's words", e);
}

/* one reply and what it comes to */
static enum outcome take_reply(struct loop *l, uint64_t number, struct err *e)
{
	enum outcome end = loop_ask(l, e);
	enum budget_kind kind;

	if (end != LOOP_GO_ON)
		return end;

	int r = understand(l, e);

	if (r == 0)
		r = checked(l, e);
	if (r < 0)
		return loop_unjudged(l, r, e);
	if (l->found.kind == EXTRACT_ANSWER && !l->complaint.length) {
		r = judged(l, e);
		if (r < 0)
			return loop_unjudged(l, r, e);
		if (r > 0)
			return OUTCOME_ANSWERED;
	}

	size_t prose = l->prose.length;

	while (prose && isspace((unsigned char)l->prose.bytes[prose - 1]))
		prose--;
	if (prose)
		show_words(&l->task->show, l->prose.bytes, prose);
	kind = budget_ended(&l->task->budget, false);
	if (kind != BUDGET_KINDS)
		return loop_ended(l, kind, e);
	return take_step(l, number, e);
}

/* the last line; 0 or -errno */
static int record_end(struct loop *l, enum outcome end, const struct err *why,
		      struct err *e)
{
	cJSON *o = cJSON_CreateObject();

	json_add(o, "outcome", loop_outcomes[end].name);
	json_add(o, "answer", &l->answer);
	if (end == OUTCOME_MODEL || end == OUTCOME_BROKEN || end == OUTCOME_REFUSED)
		json_add(o, "error", why->text);
	out_record(&l->out, o);
	json_add(o, "usage", record_usage(&l->model.usage));
	return task_record(l->task, "end", o, e);
}

int loop_unstarted(struct loop *l, int r, const struct err *why)
{
	struct err unheard;

	if (loop_begin(l, &unheard) == 0)
		(void)record_end(l, loop_broken(r), why, &unheard);
	return r;
}

static enum outcome turn(struct loop *l, uint64_t number, struct err *e)
{
	enum outcome end = take_reply(l, number, e);

	if (l->task->show.failed)
		return loop_broken(show_check(&l->task->show, e));
	if (end == LOOP_GO_ON && budget_ended(&l->task->budget, true) != BUDGET_KINDS)
		return loop_ended(l, budget_ended(&l->task->budget, true), e);
	return end;
}

/* what the code left for the user; a signal that comes then is the outcome */
static enum outcome collect(struct loop *l, enum outcome end, struct err *e)
{
	struct err unheard;

	if (end == OUTCOME_STOPPED)
		out_skip(&l->out, "a signal ended the run");
	else if (end == OUTCOME_BROKEN)
		out_skip(&l->out, "the run failed");
	else if (out_collect(&l->out, &l->task->session, l->step.budget, &unheard) < 0) {
		*e = unheard;
		return OUTCOME_STOPPED;
	}
	return end;
}

enum outcome loop_turns(struct loop *l, struct err *e)
{
	enum outcome end = LOOP_GO_ON;

	while (end == LOOP_GO_ON)
		end = turn(l, l->done + 1, e);
	return end;
}

enum outcome loop_run(struct loop *l, struct err *e)
{
	int r = loop_begin(l, e);

	return r < 0 ? loop_broken(r) : loop_end(l, loop_turns(l, e), e);
}

enum outcome loop_end(struct loop *l, enum outcome end, struct err *e)
{
	struct err unheard;

	end = collect(l, end, e);

	int r = record_end(l, end, e, &unheard);

	if (r < 0 && end != OUTCOME_BROKEN)
		*e = unheard;
	return r < 0 ? OUTCOME_BROKEN : end;
}

void loop_free(struct loop *l)
{
	model_close(&l->model);
	tests_close(&l->tests);
	out_close(&l->out);
	shown_end(&l->shown);
	checks_free(&l->checks);
	text_free(&l->preface);
	text_free(&l->rules);
	io_close_fd(&l->asker.fd);
	chat_free(&l->chat);
	reply_free(&l->reply);
	text_free(&l->complaint);
	text_free(&l->prose);
	text_free(&l->found.code);
	text_free(&l->answer);
	cJSON_Delete(l->steps);
	cJSON_Delete(l->given);
	cJSON_Delete(l->continues);
}
