/* SPDX-License-Identifier: MIT */
/*
 * chat.c - a person talks, and the model writes steps: see solve.h
 */

#include "agent/base/memory.h"
#include "agent/base/units.h"
#include "agent/cmd/solve.h"
#include "agent/loop/prompt.h"
#include "init/io.h"

/* where a turn began */
struct turn {
	size_t messages;
	uint32_t session, state;
};

static const char help[] =
	"What you type goes to the model, whose code runs in one session. :undo takes your last turn back, and the variables with it; files stay. exit, :quit or Ctrl-D leaves. Ctrl-C interrupts a step.";

static int undo(struct solve *s, const struct turn *last, struct err *e)
{
	struct session *session = &s->task.session;
	int r = 0;

	if (last->session != session->id || s->task.plan.stateless)
		return err_say(e, ESTALE, "the session of that turn is gone: not undone");
	if (last->state != session->state)
		r = session_change(session, SESSION_ROLLBACK, session->branch,
				   last->state, e);
	if (r < 0)
		return r;
	session->state = last->state;
	chat_cut(&s->loop.chat, last->messages);
	show_note(&s->task.show, "at state %" PRIu32 " again; files stay", last->state);

	cJSON *o = cJSON_CreateObject();

	json_add(o, "command", "rollback");
	json_add(o, "branch", session->branch);
	json_add(o, "state", session->state);
	json_add(o, "messages", last->messages);
	return task_record(&s->task, "command", o, e);
}

/* until the model answers; steps and time are those of one turn. LOOP_GO_ON, or why the
 * chat ends */
static enum outcome take_turn(struct solve *s, const char *words, struct err *e)
{
	struct task *t = &s->task;
	struct loop *l = &s->loop;
	cleanup_text struct text text = { 0 };

	t->budget.used[BUDGET_STEPS] = 0;
	t->budget.started_ms = units_now_ms();
	t->plan.deadline_ms = t->budget.started_ms + t->budget.limit[BUDGET_WALL_MS];
	l->before = l->done;
	if (l->chat.count == 1)
		prompt_task(words, s->binds.files, t->plan.jail->files.count, &text);
	else
		text_puts(&text, words);

	int r = loop_hear(l, text_string(&text), e);
	enum outcome end = r < 0 ? loop_broken(r) : loop_turns(l, e);

	if (end == OUTCOME_STOPPED || end == OUTCOME_BROKEN)
		return end;
	if (end == OUTCOME_ANSWERED)
		r = solve_print_answer(s, e);
	else
		show_line(&t->show, "%s", e->text);
	text_clear(&l->answer);
	return r < 0 ? loop_broken(r) : LOOP_GO_ON;
}

enum outcome chat_talk(struct solve *s, struct err *e)
{
	cleanup_free struct turn *turns = NULL;
	cleanup_text struct text line = { 0 };
	enum outcome end = LOOP_GO_ON;
	size_t count = 0;

	show_note(&s->task.show, "%s", help);
	while (end == LOOP_GO_ON) {
		int r = lines_read(&s->lines, ">>> ", &line, e);
		const char *words = text_string(&line);

		if (r < 0 && r != -ECANCELED)
			return loop_broken(r);
		if (r == 0 || strcmp(words, "exit") == 0 || strcmp(words, ":quit") == 0)
			return OUTCOME_ENDED;
		if (r < 0 || !words[strspn(words, " \t")])
			continue;
		if (strcmp(words, ":undo") == 0 && count) {
			r = undo(s, &turns[count - 1], e);
			count -= r == 0;
			if (r == -EINTR || s->task.transcript.failed)
				return loop_broken(r);
			if (r < 0)
				show_note(&s->task.show, "%s", e->text);
		} else if (words[0] == ':') {
			show_note(&s->task.show, "%s", help);
		} else {
			turns = memory_grow(turns, (count + 1) * sizeof(*turns));
			turns[count++] =
				(struct turn){ s->loop.chat.count, s->task.session.id,
					       s->task.session.state };
			end = take_turn(s, words, e);
		}
	}
	return end;
}
