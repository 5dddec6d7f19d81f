/* SPDX-License-Identifier: MIT */
/*
 * best_of.c - the way of working "best-of": attempts side by side. See modes.h
 *
 * Each attempt is a conversation, a branch of the one session, and a working folder. They
 * take turns, one reply each; the first answer that stands is the answer. An attempt
 * whose answer does not goes on, told why. All budgets are over all attempts.
 *
 * Branches are of state 0, which no code of any model's has touched. A session that is
 * lost takes all branches with it: each attempt then begins anew, and is told.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/loop/loop.h"

/* replay knows these two as what a person does at a prompt */
static int record_move(struct loop *l, const char *command, struct err *e)
{
	cJSON *o = cJSON_CreateObject();

	(void)cJSON_AddStringToObject(o, "command", command);
	(void)cJSON_AddNumberToObject(o, "branch", l->session->branch);
	(void)cJSON_AddNumberToObject(o, "state", l->session->state);
	return loop_record(l, "command", o, e);
}

static int go_to(struct loop *l, uint32_t branch, uint32_t state, struct err *e)
{
	struct session *s = l->session;

	if (s->branch == branch && s->state == state)
		return 0;
	s->branch = branch;
	s->state = state;
	return record_move(l, "switch", e);
}

/* the first step of a branch is the agent's own: into the attempt's folder */
static int enter_folder(struct loop *l, const struct attempt *a, struct err *e)
{
	cleanup_text struct text code = { 0 };
	int r;

	text_printf(&code,
		    "import os\nos.makedirs('/work/%s', exist_ok=True)\n"
		    "os.chdir('/work/%s')\ndel os\n",
		    a->folder, a->folder);
	l->session->cpu_ms = 0;
	r = loop_record(l, "code", record_code(0, &code, 0), e);
	if (r == 0)
		r = session_step(l->session, code.bytes, code.length, l->step, e);
	if (r == 0)
		r = loop_record(l, "step", record_step(0, NULL, l->step, NULL), e);
	if (r < 0 || l->step->facts.verdict == VERDICT_COMPLETED)
		return r;

	cleanup_text struct text words = { 0 };

	verdict_cause(&l->step->facts, &words);
	return err_say(e, EPROTO, "attempt %" PRIu64 " has no working folder: %s",
		       l->attempt, text_string(&words));
}

/* a branch in the session that there is now */
static int begin_branch(struct loop *l, struct attempt *a, struct err *e)
{
	struct session *s = l->session;
	const uint32_t branch = (uint32_t)l->attempt - 1;
	int r;

	a->lost = a->session != 0;
	if (branch == 0) {
		r = go_to(l, 0, 0, e);
	} else {
		r = session_change(s, SESSION_BRANCH, branch, 0, e);
		if (r < 0 && r != -EINTR && !s->open) { /* it went while nobody looked */
			r = session_renew(s, e);
			if (r == 0)
				r = session_change(s, SESSION_BRANCH, branch, 0, e);
		}
		s->branch = branch;
		s->state = 0;
		if (r == 0)
			r = record_move(l, "branch", e);
	}
	a->session = s->id;
	return r < 0 ? r : enter_folder(l, a, e);
}

static int enter(struct loop *l, struct attempt *a, struct err *e)
{
	int r = a->session == l->session->id ? go_to(l, a->branch, a->state, e)
					     : begin_branch(l, a, e);
	struct chat empty = l->chat;

	l->chat = a->chat;
	a->chat = empty;
	l->work->tests.folder = a->folder;
	return r;
}

static void leave(struct loop *l, struct attempt *a)
{
	struct chat mine = l->chat;

	l->chat = a->chat;
	a->chat = mine;
	a->branch = l->session->branch;
	a->state = l->session->state;
}

/* the conversation that begin() made is where each begins, with words of its own */
static int prepare(struct loop *l, struct err *e)
{
	for (size_t i = 0; i < l->work->attempt_count; i++) {
		struct attempt *a = &l->work->attempts[i];
		cleanup_text struct text user = { 0 };
		const struct chat *c = &l->chat;
		int r;

		(void)snprintf(a->folder, sizeof(a->folder), "attempt-%zu", i + 1);
		text_printf(&user,
			    "%s\nThis is attempt %zu of %zu. Its folder is /work/%s.\n",
			    chat_last(c), i + 1, l->work->attempt_count, a->folder);
		r = text_check(&user, "the task", e);
		if (r == 0)
			r = chat_add(&a->chat, ROLE_SYSTEM, c->list[0].text,
				     strlen(c->list[0].text), e);
		if (r == 0)
			r = chat_add(&a->chat, ROLE_USER, user.bytes, user.length, e);
		if (r < 0)
			return r;
	}
	chat_free(&l->chat);
	return 0;
}

/* this attempt has come to its end, and others may go on */
static bool ends_one(const struct loop *l, enum outcome end)
{
	return (end == OUTCOME_STEPS || end == OUTCOME_BUDGET) &&
	       budget_ended(l->budget, true) == BUDGET_KINDS;
}

static enum outcome take_turn(struct loop *l, size_t i, uint64_t number, struct err *e)
{
	struct attempt *a = &l->work->attempts[i];
	char line[64];
	int r;

	l->attempt = i + 1;
	(void)snprintf(line, sizeof(line), "attempt %zu of %zu", i + 1,
		       l->work->attempt_count);
	show_line(l->show, "");
	show_line(l->show, line);
	r = enter(l, a, e);

	enum outcome end = r < 0 ? loop_broken(r) : loop_turn(l, number, e);

	leave(l, a);
	if (!ends_one(l, end))
		return end;
	a->ended = true;
	return LOOP_GO_ON;
}

enum outcome loop_attempts(struct loop *l, struct err *e)
{
	size_t count = l->work->attempt_count;
	enum outcome end = LOOP_GO_ON;
	uint64_t number = 1;
	size_t going = 1;
	int r = prepare(l, e);

	if (r < 0)
		return loop_broken(r);
	while (end == LOOP_GO_ON && going) {
		going = 0;
		for (size_t i = 0; i < count && end == LOOP_GO_ON; i++) {
			if (l->work->attempts[i].ended)
				continue;
			end = take_turn(l, i, number++, e);
			going += !l->work->attempts[i].ended;
		}
	}
	if (end == OUTCOME_ANSWERED)
		return end;
	l->attempt = 0;
	if (end != LOOP_GO_ON)
		return end;

	struct err last = *e;

	(void)err_say(e, EDQUOT,
		      "none of the %zu attempts came to an answer that stands: %s", count,
		      last.text);
	return OUTCOME_NONE;
}

int best_of_ran(struct loop *l, struct text *observation, struct err *e)
{
	struct attempt *a = &l->work->attempts[l->attempt - 1];

	(void)e;
	if (a->lost)
		text_puts(
			observation,
			"Before this step the sandbox was lost, and all that you had in it: the step began in a new one, without your variables and files.\n");
	a->lost = false;
	return 0;
}
