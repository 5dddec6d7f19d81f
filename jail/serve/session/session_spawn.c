/* SPDX-License-Identifier: MIT */
/*
 * session_spawn.c - what sessions ask of the spawner: see spawn.h
 *
 * The spawner answers every MEASURE, with an errno if the process that measures misses
 * its deadline. A session asks for one thing at a time, so a slow jail delays itself
 * alone. If too many other jails are being measured (EBUSY), the request is repeated for
 * up to GIVE_UP_MS.
 */
#include <stdlib.h>
#include <sys/syscall.h>

#include "jail/base/fd_passing.h"
#include "jail/serve/session/session.h"

#define AGAIN_MS 10
#define GIVE_UP_MS 10000

struct measuring {
	struct measuring *next;
	enum spawn_measure what;
	uint32_t state; /* its number */
	bool whole;     /* the jail instead */
	bool sent;
	uint64_t until_ms;
	void (*came)(struct session *s, void *owner, const struct spawn_answer *a);
	void *owner;
};

/* The spawner waits for nobody, so this does not wait for long. Where the spawner is
 * gone, its end of file tells so. */
static void ask(const struct session *s, uint32_t kind, uint32_t value, uint32_t tag,
		const int *pidfd)
{
	const struct spawn_request q = { kind, s->jail, value, tag };

	(void)fd_passing_send(s->serve->spawner.fd, &q, sizeof(q), pidfd, pidfd != NULL);
}

void spawn_open(struct session *s)
{
	struct serve *serve = s->serve;

	/* numbers wrap around, and 0 is none */
	s->jail = ++serve->last_jail ? serve->last_jail : ++serve->last_jail;
	ask(s, SPAWN_OPEN, 0, 0, NULL);
}

void spawn_signal(const struct session *s, int pidfd, int signal)
{
	if (pidfd >= 0)
		ask(s, SPAWN_SIGNAL, (uint32_t)signal, 0, &pidfd);
}

void spawn_score(struct state *state, bool running)
{
	if (state->scored != running && state->pidfd >= 0)
		ask(state->session, SPAWN_SCORE, running, 0, &state->pidfd);
	state->scored = running;
}

void spawn_end(const struct session *s)
{
	ask(s, SPAWN_END, 0, 0, NULL);
}

static void answer(struct session *s, const struct spawn_answer *a)
{
	struct measuring *m = s->measuring;

	s->measuring = m->next;
	m->came(s, m->owner, a);
	free(m);
}

/* of a state, or of a step that runs */
static const struct state *find(const struct session *s, uint32_t number)
{
	const struct state *of = states_find(&s->states, number);

	for (const struct step *step = s->steps; !of && step; step = step->next)
		if (step->number == number)
			of = step->state;
	return of;
}

/* Send the first request; those about a process that has ended are answered here. */
static void send_first(struct session *s)
{
	while (s->measuring && !s->measuring->sent) {
		struct measuring *m = s->measuring;
		const struct state *of = find(s, m->state);
		cleanup_fd int whole = -1;
		int pidfd = m->whole || !of ? -1 : of->pidfd;

		if (m->whole)
			pidfd = whole = (int)syscall(SYS_pidfd_open, s->init, 0);
		if (pidfd >= 0) {
			m->sent = true;
			ask(s, SPAWN_MEASURE, m->what, ++s->measure_tag, &pidfd);
			return;
		}
		answer(s, &(struct spawn_answer){ .errnum = ESRCH });
	}
}

static void ring_again(struct bell *b)
{
	send_first(b->owner);
}

void measure_ask(struct session *s, enum spawn_measure what, const struct state *state,
		 void (*came)(struct session *s, void *owner,
			      const struct spawn_answer *a),
		 void *owner)
{
	struct measuring *m = calloc(1, sizeof(*m)), **last = &s->measuring;

	if (!m || s->phase == PHASE_CLOSING) {
		free(m);
		came(s, owner, &(struct spawn_answer){ .errnum = ECANCELED });
		return;
	}
	*m = (struct measuring){ .what = what,
				 .state = state ? state->number : 0,
				 .whole = !state,
				 .until_ms = clock_now_ms() + GIVE_UP_MS,
				 .came = came,
				 .owner = owner };
	while (*last)
		last = &(*last)->next;
	*last = m;
	send_first(s);
}

void measure_came(struct session *s, const struct spawn_answer *a)
{
	if (!s->measuring || !s->measuring->sent || a->tag != s->measure_tag)
		return;
	if (a->errnum == EBUSY && clock_now_ms() < s->measuring->until_ms) {
		s->measuring->sent = false;
		s->measure_again = (struct bell){ .ring = ring_again, .owner = s };
		event_loop_set(&s->serve->loop, &s->measure_again,
			       clock_now_ms() + AGAIN_MS);
		return;
	}
	answer(s, a);
	send_first(s);
}

void measure_end(struct session *s)
{
	event_loop_unset(&s->serve->loop, &s->measure_again);
	while (s->measuring)
		answer(s, &(struct spawn_answer){ .errnum = ECANCELED });
}
