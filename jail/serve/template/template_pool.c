/* SPDX-License-Identifier: MIT */
/*
 * template_pool.c - the templates of a serve: see template_pool.h
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jail/serve/template/template_pool.h"
#include "jail/serve/template/template.h"
#include "jail/launch/ending.h"

/* pause after a template that did not start */
#define AGAIN_MS 1000
/* a template makes a clone in a millisecond; a host that is short of everything needs
 * more */
#define ANSWER_MS 5000

struct pooled {
	struct template t;
	struct template_pool *pool;
	struct port port;
	struct bell late;            /* set while it starts, or owes an answer */
	struct order *first, **last; /* jails that it was asked for */
	unsigned int sessions;
	bool done; /* ended when nobody is left */
	struct ending ending;
	struct later end;
};

static void serve_gone(struct ending *en, const struct err *e)
{
	struct pooled *one =
		(struct pooled *)((char *)en - offsetof(struct pooled, ending));

	/* what is left of its leaf does not end serve: the keeper removes it later */
	(void)e;
	one->pool->count--;
	event_loop_later(one->pool->loop, &one->end, free, one);
}

static struct pooled *pooled_of(struct template *t)
{
	return (struct pooled *)((char *)t - offsetof(struct pooled, t));
}

static void end(struct pooled *one)
{
	struct event_loop *loop = one->pool->loop;

	event_loop_unset(loop, &one->late);
	(void)event_loop_listen(loop, &one->port, 0);
	template_close(&one->t);
	ending_begin(&one->ending, loop, &one->t.up.jail, serve_gone);
}

/* No more sessions are cloned from this template. */
static void retire(struct pooled *one)
{
	struct template_pool *s = one->pool;

	if (s->now == one)
		s->now = NULL;
	if (s->next == one)
		s->next = NULL;
	one->done = true;
	if (one->sessions == 0)
		end(one);
}

static void tell(struct pooled *one, const struct err *e)
{
	struct order *o = one->first;

	one->first = o->next;
	if (!one->first)
		one->last = &one->first;
	o->made(o, e);
}

/* This template is of no use any more: fail all launches that wait for it. */
static void give_up(struct pooled *one, const struct err *e)
{
	struct template_pool *s = one->pool;

	one->t.ready = false;
	(void)event_loop_listen(s->loop, &one->port, 0);
	event_loop_unset(s->loop, &one->late);
	while (one->first)
		tell(one, e);
	if (one->done) /* it was retired before, and its sessions end by themselves */
		return;
	(void)snprintf(s->why, sizeof(s->why), "%s", e->text);
	s->again_ms = clock_now_ms() + AGAIN_MS;
	retire(one);
}

static void serve_late(struct bell *b)
{
	struct pooled *one = b->owner;
	struct err e;

	if (one->t.ready)
		(void)err_say(&e, ETIMEDOUT, "template: no answer within %d s",
			      ANSWER_MS / 1000);
	else
		(void)err_say(&e, ETIMEDOUT, "template: not ready within %d s",
			      STARTUP_MS / 1000);
	give_up(one, &e);
}

static void serve_made(struct template *t, const struct err *e)
{
	struct pooled *one = pooled_of(t);
	struct event_loop *loop = one->pool->loop;

	event_loop_unset(loop, &one->late);
	tell(one, e);
	if (one->first)
		event_loop_set(loop, &one->late, clock_now_ms() + ANSWER_MS);
}

static void serve_template(struct port *p)
{
	struct pooled *one = p->owner;
	struct template_pool *s = one->pool;
	struct err e;
	int r = template_serve(&one->t, &e);

	if (r < 0) {
		give_up(one, &e);
		return;
	}
	if (r == 0 || one != s->next)
		return;
	event_loop_unset(s->loop, &one->late);
	s->next = NULL;
	if (s->now)
		retire(s->now);
	s->now = one;
}

static void begin_next(struct template_pool *s)
{
	struct pooled *one;
	struct err e;
	int r;

	if (!s->argv || s->next || clock_now_ms() < s->again_ms)
		return;
	one = calloc(1, sizeof(*one));
	if (!one)
		return;
	one->pool = s;
	one->port = PORT(-1, serve_template, one);
	one->late = (struct bell){ .ring = serve_late, .owner = one };
	one->last = &one->first;
	s->count++;
	s->next = one;
	r = template_start(&one->t, s->parts, s->argv, STDERR_FILENO, &e);
	one->port.fd = one->t.events;
	one->t.made = serve_made;
	if (r == 0) {
		r = event_loop_listen(s->loop, &one->port, EPOLLIN);
		if (r < 0)
			(void)err_set(&e, -r, "template: epoll_ctl");
	}
	if (r < 0) {
		give_up(one, &e);
		return;
	}
	event_loop_set(s->loop, &one->late, clock_now_ms() + STARTUP_MS);
}

void template_pool_open(struct template_pool *s, struct event_loop *loop,
			struct parts *parts, char *const *argv)
{
	const struct plan *p = parts->plan;
	const char *why = p->cold == ANSWER_YES ? "--cold" : NULL;

	/* an attacker may have written that tree */
	if (!why && strchr(p->rootfs, '/'))
		why = "the root tree is a folder, and none that came with stepjail";
	*s = (struct template_pool){ .loop = loop,
				     .parts = parts,
				     .argv = why ? NULL : argv };
	s->loads = p->lock_code == LOCK_YES && strcmp(p->rootfs, "core") != 0;
	s->always = s->argv &&
		    (s->loads || p->deterministic == ANSWER_YES || p->aslr == ASLR_NO);
	(void)snprintf(s->why, sizeof(s->why), "%s",
		       why ? why : "template: it is still starting");
	begin_next(s);
}

int template_pool_launch(struct template_pool *s, struct order *o, struct err *e)
{
	const uint64_t *limit = s->parts->plan->limit;
	struct pooled *one = s->now;
	int r;

	o->from = NULL;
	/* the old one serves until the next one is ready */
	if (!one || template_is_old(&one->t, limit[LIMIT_TEMPLATE_CLONES],
				    limit[LIMIT_TEMPLATE_MS]))
		begin_next(s);
	if (!one && s->always)
		return err_say(
			e, EAGAIN, "a session needs a template here, %s: %.300s",
			s->loads
				? "because --lock-code forbids what a dynamic loader does"
				: "so that all sessions are alike (with --cold, none has one)",
			s->why);
	if (!one)
		return launch_jail(o->jail, s->parts, e);
	one->sessions++;
	o->from = &one->t;
	r = template_ask(&one->t, o->jail, s->parts, e);
	if (r < 0)
		return r;
	if (!one->first)
		event_loop_set(s->loop, &one->late, clock_now_ms() + ANSWER_MS);
	o->next = NULL;
	*one->last = o;
	one->last = &o->next;
	return 1;
}

bool template_pool_awaited(const struct template_pool *s)
{
	return s->always && !s->now && s->next;
}

void template_pool_release(struct template *from)
{
	struct pooled *one = from ? pooled_of(from) : NULL;

	if (one && --one->sessions == 0 && one->done)
		end(one);
}

void template_pool_close(struct template_pool *s)
{
	s->argv = NULL;
	if (s->next)
		retire(s->next);
	if (s->now)
		retire(s->now);
}
