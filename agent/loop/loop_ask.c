/* SPDX-License-Identifier: MIT */
/*
 * loop_ask.c - one reply of the model, as far as context and budgets have room: see
 * loop.h
 */

#include "agent/loop/loop.h"

#define PICTURE_SIDE 8000 /* pixels: Anthropic takes no more */
#define REPLY_TOKENS 8192 /* room for a reply, where nothing else is said */

/* a budget is used up, and there is no answer */
enum outcome loop_ended(const struct loop *l, enum budget_kind kind, struct err *e)
{
	cleanup_text struct text words = { 0 };

	budget_words(&l->task->budget, kind, &words);
	(void)err_say(e, EDQUOT, "%s and %s", text_string(&words),
		      l->refused ? "every answer of the model was refused"
				 : "the model has not answered");
	return kind == BUDGET_STEPS     ? OUTCOME_STEPS
	       : kind == BUDGET_WALL_MS ? OUTCOME_WALL
					: OUTCOME_BUDGET;
}

enum outcome loop_unjudged(const struct loop *l, int r, struct err *e)
{
	return r == -ETIMEDOUT ? loop_ended(l, BUDGET_WALL_MS, e) : loop_broken(r);
}

/* leave out old observations until so many tokens are left; 1 where any was */
static int compact(struct loop *l, uint64_t target, struct err *e)
{
	struct compacted done = compact_chat(&l->chat, target, &l->model.gauge);

	if (!done.observations)
		return 0;
	show_note(
		&l->task->show,
		"%zu old observations are no longer sent to the model; the conversation is now about %" PRIu64
		" tokens long",
		done.observations, done.tokens);
	cJSON *o = cJSON_CreateObject();

	json_add(o, "observations", done.observations);
	json_add(o, "bytes", done.bytes);
	json_add(o, "tokens", done.tokens);

	int r = task_record(l->task, "compact", o, e);

	return r < 0 ? r : 1;
}

static uint64_t asked_tokens(const struct loop *l)
{
	return compact_tokens(chat_bytes(&l->chat), &l->model.gauge);
}

/* what is left does not pay for another request */
static enum outcome unpaid(const struct loop *l, struct err *e)
{
	bool tokens = budget_left(&l->task->budget, BUDGET_TOKENS) <= asked_tokens(l);

	return loop_ended(l, tokens ? BUDGET_TOKENS : BUDGET_COST_PICO, e);
}

/* before a reply: room in the context for it, and tokens and money to pay for it */
static enum outcome make_room(struct loop *l, struct err *e)
{
	uint64_t reply = l->reply_tokens ? l->reply_tokens : REPLY_TOKENS;
	uint64_t asked, room;

	if (l->context_tokens) {
		if (!l->reply_tokens && reply > l->context_tokens / 4)
			reply = l->context_tokens / 4;
		room = l->context_tokens > reply ? l->context_tokens - reply : 1;
		asked = asked_tokens(l);
		/* far down at once: what is sent changes at its beginning, so that
		 * servers that remember it must read all of it again */
		int r = asked > room / 10 * 9 ? compact(l, room / 10 * 6, e) : 0;

		if (r < 0)
			return loop_broken(r);
		asked = asked_tokens(l);
		if (asked > room) {
			(void)err_say(
				e, EDQUOT,
				"the conversation is about %" PRIu64
				" tokens long; with %" PRIu64
				" for a reply, that is more than --context %" PRIu64,
				asked, reply, l->context_tokens);
			return OUTCOME_BUDGET;
		}
	}
	asked = asked_tokens(l);
	room = budget_reply_tokens(&l->task->budget, asked);
	l->model.reply_tokens = room < reply ? room : l->reply_tokens;
	return room == 0 ? unpaid(l, e) : LOOP_GO_ON;
}

/* after a try that failed: tokens of half an answer are paid for too */
static bool affords(void *arg, const struct usage *usage)
{
	const struct loop *l = arg;

	budget_model(&l->task->budget, usage);
	return budget_reply_tokens(&l->task->budget, asked_tokens(l)) > 0;
}

enum outcome loop_ask(struct loop *l, struct err *e)
{
	enum outcome end = make_room(l, e);

	if (end != LOOP_GO_ON)
		return end;

	int r = checks_prompt(&l->checks, &l->chat, e);

	if (r <= 0)
		return r == 0 ? OUTCOME_REFUSED : loop_unjudged(l, r, e);
	l->model.affords = affords;
	l->model.affords_arg = l;
	show_wait(&l->task->show, "waiting for ", "the model");
	do
		r = model_ask(&l->model, &l->chat, l->task->plan.deadline_ms, &l->reply,
			      e);
	while (r == -EMSGSIZE && compact(l, asked_tokens(l) / 2, e) > 0);
	show_wait(&l->task->show, NULL, "");
	budget_model(&l->task->budget, &l->model.usage);
	if (r == -ETIMEDOUT)
		return loop_ended(l, BUDGET_WALL_MS, e);
	if (r == -EDQUOT)
		return unpaid(l, e);
	if (r < 0)
		return r == -EINTR ? OUTCOME_STOPPED : OUTCOME_MODEL;
	show_thinking(&l->task->show, text_string(&l->reply.reasoning),
		      l->reply.reasoning.length);
	r = task_record(l->task, "reply", record_reply(&l->reply, &l->model.usage), e);
	if (r == 0)
		chat_add_reply(&l->chat, &l->reply);
	return r < 0 ? loop_broken(r) : LOOP_GO_ON;
}

void loop_see(struct loop *l, const struct media_list *shown, struct text *words)
{
	uint64_t large = 0;
	uint32_t width, height;

	for (size_t i = 0; l->model.plan->vision && i < shown->count; i++) {
		const struct media_item *m = &shown->items[i];

		if (m->state != MEDIA_WHOLE || !media_png_size(m, &width, &height))
			continue;
		if (m->bytes.length > CHAT_PICTURE_BYTES || width > PICTURE_SIDE ||
		    height > PICTURE_SIDE)
			large++;
		else
			chat_show(&l->chat, &m->bytes);
	}
	if (large)
		text_printf(
			words,
			"You do not see %" PRIu64
			" of them, of more than %zu MiB or %d pixels a side. Make them smaller.\n",
			large, CHAT_PICTURE_BYTES >> 20, PICTURE_SIDE);
}
