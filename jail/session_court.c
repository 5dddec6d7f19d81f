/* SPDX-License-Identifier: MIT */
/*
 * session_court.c - violations and signals in a session: whose, and whether they may go on
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "jail/proc.h"
#include "jail/session.h"
#include "jail/session_rest.h"
#include "jail/stand.h"

#define ANCESTORS_MAX 32

/* a running step, or NULL where there are none or several */
static struct step *only_step(const struct session *s)
{
	struct step *only = NULL;

	for (struct step *step = s->steps; step; step = step->next) {
		if (!step->state->host || step->kind != KIND_RUN)
			continue;
		if (only)
			return NULL;
		only = step;
	}
	return only;
}

static pid_t number_of(const char *text, const char *key)
{
	const char *at = posture_find(text, key);

	return at ? (pid_t)strtol(at, NULL, 10) : 0;
}

/* by its ancestors; one whose parents have ended is nobody's */
static struct step *step_of(const struct session *s, pid_t thread)
{
	struct step *only = only_step(s);
	char text[4096];

	if (only)
		return only;
	for (int i = 0; i < ANCESTORS_MAX && thread > 0; i++) {
		pid_t process;

		if (thread == s->run.jail.pid ||
		    proc_read(thread, "status", text, sizeof(text)) <= 0)
			return NULL;
		process = number_of(text, "Tgid:");
		for (struct step *step = s->steps; step; step = step->next)
			if (step->state->host && step->state->host == process)
				return step;
		thread = number_of(text, "PPid:");
	}
	return NULL;
}

/* the steps, and the processes that wait, that this caller must not signal, one after the
 * other */
static const struct state *kept(const struct session *s, unsigned int i)
{
	const struct step *own = step_of(s, s->caller);

	if (i < s->states.count)
		return s->states.state[i];
	i -= s->states.count;
	for (const struct step *step = s->steps; step; step = step->next)
		if (step != own && step->state->host && i-- == 0)
			return step->state;
	for (const struct step *step = s->ahead; step; step = step->next)
		if (step->state->host && i-- == 0)
			return step->state;
	return NULL;
}

static bool keeps(void *owner, pid_t pid)
{
	const struct session *s = owner;
	const struct state *state;

	if (pid == 1)
		return true;
	for (unsigned int i = 0; (state = kept(s, i)); i++)
		if (state->pid == pid)
			return true;
	return false;
}

static bool is_in(const struct state *state, pid_t group)
{
	char text[4096];
	pid_t own;

	/* who cannot be looked at is kept */
	if (proc_read(state->host, "status", text, sizeof(text)) <= 0)
		return true;
	own = sweep_inside(text, "NSpgid:");
	return own < 0 || own == group;
}

static bool keeps_in(void *owner, pid_t group)
{
	const struct session *s = owner;
	const struct state *state;

	for (unsigned int i = 0; (state = kept(s, i)); i++)
		if (is_in(state, group))
			return true;
	return false;
}

/* the caller itself, by its thread's number or its process's */
static bool is_own(void *owner, pid_t pid)
{
	const struct session *s = owner;
	char text[4096];

	if (proc_read(s->caller, "status", text, sizeof(text)) <= 0)
		return false;
	return sweep_inside(text, "NSpid:") == pid ||
	       sweep_inside(text, "NStgid:") == pid;
}

static enum court_answer hears(void *owner, const struct seccomp_notif *n)
{
	struct session *s = owner;
	const struct guard guard = { keeps, keeps_in, is_own, s };

	if (rest_is_call(&n->data))
		return rest_hear(s, n) ? COURT_HOLDS : COURT_LETS;
	s->caller = (pid_t)n->pid;
	step_hear_births(s);
	return guard_allows(&guard, &n->data) ? COURT_LETS : COURT_REFUSES;
}

static struct violations *whose(void *owner, pid_t thread)
{
	struct session *s = owner;
	struct step *step;

	step_hear_births(s);
	step = step_of(s, thread);
	return step ? &step->refused : &s->elsewhere;
}

static void punish(void *owner, struct violations *whose_are)
{
	const struct session *s = owner;

	/* one that is nobody's is everybody's */
	for (struct step *step = s->steps; step; step = step->next)
		if (&step->refused == whose_are || &s->elsewhere == whose_are)
			limit_kill(step, KILL_VIOLATION);
}

static uint64_t since_ms(const struct session *s)
{
	return stand_now_ms() - s->run.start_ms;
}

/* whoever floods the listener waits for its answers */
static void pace(struct session *s)
{
	uint64_t wait_ms = violation_wait_ms(&s->run.outcome.refused, since_ms(s));

	(void)hub_listen(&s->serve->hub, &s->listener, wait_ms ? 0 : EPOLLIN);
	if (wait_ms)
		hub_set(&s->serve->hub, &s->flood, stand_now_ms() + wait_ms);
}

static void ring_flood(struct bell *b)
{
	pace(b->owner);
}

static void serve_listener(struct port *p, uint32_t events)
{
	struct session *s = p->owner;
	struct violations *v = &s->run.outcome.refused;
	int r;

	if (!(events & EPOLLIN)) { /* its last process is gone */
		hub_close(&s->serve->hub, p);
		v->fd = -1;
		return;
	}
	pace(s);
	if (!p->events)
		return;
	r = violation_serve(v, s->serve->plan, since_ms(s));
	if (r < 0)
		session_end(s, "violations: answer a refused call: %s", strerror(-r));
	else if (p->fd >= 0)
		pace(s);
}

void court_open(struct session *s)
{
	struct violations *v = &s->run.outcome.refused;

	s->court = (struct violation_court){ hears, whose, punish, s };
	v->court = &s->court;
	s->elsewhere.fd = -1;
	s->flood = (struct bell){ .ring = ring_flood, .owner = s };
	s->listener = PORT(v->fd, serve_listener, s);
	if (hub_listen(&s->serve->hub, &s->listener, EPOLLIN) < 0)
		session_end(s, "serve: epoll_ctl");
}
