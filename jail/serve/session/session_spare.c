/* SPDX-License-Identifier: MIT */
/*
 * session_spare.c - sessions that are made before anybody asks for one: see session.h
 *
 * Theory of operation
 *   --ready of them are made as any other, up to state 0, and told to nobody; they are in
 *   a list of their own and have no number. OPEN and ONCE take the oldest one, number it,
 *   and answer. When a turn of the loop is over, spare_turn() looks whether one is
 *   missing, and makes it if no fd has anything to serve, by the rules of spare.h. What
 *   it waits for is an event or a bell: when all are there, nothing runs. One that ends
 *   by itself is replaced after a pause, for the next one may end, too. One whose
 *   template has served its time goes when the next template is there.
 */
#include <poll.h>
#include <stdio.h>

#include "init/io.h"
#include "jail/serve/session/session.h"
#include "jail/base/clock.h"

/* nothing to do: the turn in which this bell rings ends with spare_turn() */
static void ring(struct bell *b)
{
	(void)b;
}

unsigned int spare_count(const struct serve *serve, bool open)
{
	unsigned int count = 0;

	for (const struct session *s = serve->bucket[SERVE_BUCKETS]; s; s = s->next)
		count += s->phase == PHASE_OPEN || (!open && s->phase == PHASE_STARTING);
	return count;
}

static void fail(struct serve *serve, const char *why)
{
	struct spares *r = &serve->spares;

	r->failed = true;
	serve->sight.again_ms = clock_now_ms() + SPARE_PAUSE_MS;
	(void)snprintf(r->why, sizeof(r->why), "%s", why);
}

void spare_lost(struct session *s)
{
	if (!s->serve->ending && !spawn_is_stale(s))
		fail(s->serve, s->reason);
}

static void drop_stale(struct serve *serve)
{
	for (struct session *s = serve->bucket[SERVE_BUCKETS], *next; s; s = next) {
		next = s->next;
		if (spawn_is_stale(s))
			session_end(s, "its template has ended, or was too old");
	}
}

/* Are there events that the next turn will serve? */
static bool is_busy(const struct serve *serve)
{
	struct pollfd events = { .fd = serve->loop.epoll, .events = POLLIN };

	return poll(&events, 1, 0) != 0;
}

void spare_turn(struct serve *serve)
{
	struct spare_sight *v = &serve->sight;
	uint64_t at_ms;
	struct err e;

	v->want = serve->plan->limit[LIMIT_READY];
	if (v->want == 0 || serve->ending)
		return;
	drop_stale(serve);
	v->have = spare_count(serve, false);
	if (v->have >= v->want)
		return;
	serve->spares.look.ring = ring;
	v->now_ms = clock_now_ms();
	v->template = spawn_is_fresh(serve);
	at_ms = spare_when(v);
	if (at_ms && at_ms != SPARE_NEVER)
		event_loop_set(&serve->loop, &serve->spares.look, at_ms);
	else
		event_loop_unset(&serve->loop, &serve->spares.look);
	if (at_ms == 0 && !is_busy(serve) && session_prepare(serve, &e) < 0) {
		fail(serve, e.text);
		event_loop_set(&serve->loop, &serve->spares.look, v->again_ms);
	}
}

/* Is nothing to be read of this session: neither its end nor its interpreter's? */
static bool is_quiet(const struct session *s)
{
	struct pollfd fds[] = {
		{ .fd = s->control.fd, .events = POLLIN },
		{ .fd = s->states.state[0]->channel.fd, .events = POLLIN },
	};

	return poll(fds, 2, 0) == 0;
}

struct session *spare_take(struct serve *serve)
{
	struct session **best = NULL, *s;

	/* The oldest is the last. A session that is being made will be ready sooner than
	 * a new one. */
	for (struct session **at = &serve->bucket[SERVE_BUCKETS]; *at;
	     at = &(*at)->next) {
		if (spawn_is_stale(*at))
			continue;
		if ((*at)->phase == PHASE_OPEN && is_quiet(*at))
			best = at;
		else if ((*at)->phase == PHASE_STARTING && !best)
			best = at;
	}
	if (!best)
		return NULL;
	s = *best;
	*best = s->next;
	s->waits = false;
	serve->spares.failed = false;
	return s;
}

void spare_run_once(struct session *s)
{
	struct once *o = &s->once;
	struct err e;

	if (o->is && o->awaits == 0 &&
	    step_run(s, states_branch(&s->states, 0), io_steal_fd(&o->source), &o->limits,
		     &e) < 0)
		session_end(s, "%s", e.text);
}

void spare_begin(struct session *s)
{
	s->opened = true;
	say_opened(s);
	spare_run_once(s);
}
