/* SPDX-License-Identifier: MIT */
/*
 * session_hold.c - frames that wait for files, with --rollback-files: see session_image.c
 *
 * Theory of operation
 *   Files change hands only while no step runs and no file operation is under way. A frame
 *   that needs files which are not there yet is put aside, and so is every later one of
 *   the session, CLOSE excepted; then all of them are taken in their order, as if they
 *   came now. What cannot be had is REFUSED, in the words of why. While much waits, serve
 *   takes nothing more from its client: a frame that were refused for want of room would
 *   leave the half of a source before it, for a later RUN.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "init/io.h"
#include "jail/serve/request.h"
#include "jail/serve/session/session_image.h"

/* ---- frames that wait */

static bool is_busy(const struct session *s)
{
	for (const struct step *step = s->steps; step; step = step->next)
		if (step->kind != KIND_RUN)
			return true;
	return false;
}

static struct held *copy(const struct wire_header *h, const unsigned char *payload)
{
	struct held *held = malloc(sizeof(*held) + h->length);

	if (held) {
		held->next = NULL;
		held->head = *h;
		memcpy(held->payload, payload, h->length);
	}
	return held;
}

/* what was sent before it is used up, as if its own row had refused it */
static void use_up(struct session *s, uint16_t type, uint32_t branch)
{
	struct branch *b = states_branch(&s->states, branch);
	struct refusal unsaid;
	struct err unused;

	if (type == WIRE_RUN && b) {
		int source = request_take_source(b, &unsaid, &unused);

		io_close_fd(&source);
	}
	if (type != WIRE_END)
		return;
	s->put.under_way = false;
	io_close_fd(&s->put.data);
}

static void refuse(struct session *s, const struct wire_header *h,
		   const unsigned char *payload, enum refusal_kind kind, const char *text)
{
	const struct refusal why = { .kind = kind, .frame = h->type };
	struct serve_at at = { 0 };

	if (h->length >= sizeof(at))
		memcpy(&at, payload, sizeof(at));
	use_up(s, h->type, at.branch);
	say_refused(s->serve, s->number, at.branch, &why, text);
}

static size_t weight(const struct wire_header *h)
{
	return sizeof(struct held) + h->length;
}

static struct held *pop(struct session *s)
{
	struct files *f = &s->files;
	struct held *held = f->held;

	if (held) {
		f->held = held->next;
		s->serve->held_bytes -= weight(&held->head);
	}
	if (!f->held)
		f->last = &f->held;
	return held;
}

/* it was the first, and is so again */
static int push_first(struct session *s, const struct wire_header *h,
		      const unsigned char *payload, struct err *e)
{
	struct files *f = &s->files;
	struct held *held = copy(h, payload);

	if (!held)
		return err_set(e, ENOMEM, "serve: a frame");
	held->next = f->held;
	if (!f->held)
		f->last = &held->next;
	f->held = held;
	s->serve->held_bytes += weight(h);
	return 1;
}

void hold_refuse(struct session *s, const char *text)
{
	struct held *first = pop(s);

	if (first)
		refuse(s, &first->head, first->payload, REFUSAL_FILES, text);
	free(first);
}

bool hold_wait(struct session *s, const struct wire_header *h,
	       const unsigned char *payload)
{
	struct files *f = &s->files;
	struct held *held;

	if (f->replaying || s->phase != PHASE_OPEN || (!f->job && !f->held) ||
	    h->type == WIRE_CLOSE || h->type == WIRE_OPEN || h->type == WIRE_ONCE)
		return false;
	held = copy(h, payload);
	if (!held) { /* what comes after it would be half of what was asked for */
		session_end(s, "there is no memory for frames that wait for files");
		return true;
	}
	if (!f->held)
		f->last = &f->held;
	*f->last = held;
	f->last = &held->next;
	s->serve->held_bytes += weight(h);
	return true;
}

void hold_resume(struct session *s)
{
	struct files *f = &s->files;
	struct held *held;

	if (f->replaying)
		return;
	f->replaying = true;
	while (s->phase == PHASE_OPEN && !f->job && !is_busy(s) && (held = pop(s))) {
		request_serve(s->serve, &held->head, held->payload);
		free(held);
	}
	f->replaying = false;
}

void hold_end(struct session *s)
{
	struct held *held;

	while ((held = pop(s)))
		free(held);
}

/* ---- what a frame needs */

static const struct step *running(const struct session *s)
{
	const struct step *step = s->steps;

	while (step && step->kind != KIND_RUN)
		step = step->next;
	return step;
}

/* will a branch be able to come back to what is there, when this one has gone? */
static bool is_needed(struct request *q, uint32_t goal)
{
	struct states *t = &q->session->states;
	const struct state *at = states_find(t, q->session->files.at);
	uint32_t head = q->branch->head;
	bool needed;

	q->branch->head = goal;
	needed = at && states_is_reached(t, at);
	q->branch->head = head;
	return needed;
}

/* whose files does it need? NO_STATE for nobody's: what is wrong with it is told later */
static uint32_t choose_goal(const struct request *q, uint16_t type)
{
	const struct session *s = q->session;
	const struct branch *b = q->branch;

	switch (type) {
	case WIRE_RUN:
		return b->step || b->lost ? NO_STATE : b->head;
	case WIRE_ROLLBACK:
		return b->step || !states_find(&s->states, q->head.state.state)
			       ? NO_STATE
			       : q->head.state.state;
	case WIRE_END:
		if (!s->put.under_way || s->put.error.errnum || q->more)
			return NO_STATE;
		return b ? b->head : s->files.at;
	case WIRE_GET:
	case WIRE_LIST:
		/* a step that runs may be watched by its files */
		return !b || b->step ? NO_STATE : b->head;
	default:
		return NO_STATE;
	}
}

static int refuse_beside(struct request *q, const struct step *step, struct err *e)
{
	q->why.step = step->number;
	return request_deny(
		q, REFUSAL_BUSY,
		err_say(e, EBUSY,
			"branch %u runs step %u, and with --rollback-files one thing is "
			"done at a time in a session: wait for its DONE, or KILL it",
			step->branch, step->number));
}

static int hold(struct request *q, uint32_t goal, const struct wire_header *h,
		const unsigned char *payload, struct err *e)
{
	struct session *s = q->session;
	struct files *f = &s->files;
	const struct step *beside = running(s);
	bool run = h->type == WIRE_RUN;
	int r;

	if (beside)
		return refuse_beside(q, beside, e);
	if (f->at != goal || (run && !f->exact)) {
		if (is_busy(s))
			return push_first(s, h, payload, e);
		r = image_want(s, goal, h->type == WIRE_ROLLBACK && !is_needed(q, goal),
			       e);
		if (r < 0)
			return request_deny(q, REFUSAL_FILES, r);
		if (r > 0)
			return push_first(s, h, payload, e);
	}
	if (run || h->type == WIRE_END)
		f->exact = false;
	return 0;
}

int hold_frame(struct request *q, const struct wire_header *h,
	       const unsigned char *payload, struct err *e)
{
	struct session *s = q->session;
	uint32_t goal = NO_STATE;
	int r;

	if (s && s->phase == PHASE_OPEN && image_is_on(s))
		goal = choose_goal(q, h->type);
	if (goal == NO_STATE)
		return 0;
	r = hold(q, goal, h, payload, e);
	if (r < 0)
		use_up(s, h->type, q->name);
	return r;
}
