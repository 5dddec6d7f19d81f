/* SPDX-License-Identifier: MIT */
/*
 * session_measure.c - what takes rights to see of a session's processes: see session.h
 *
 * The spawner has it read by a process, since a jail can make whoever reads it wait, and
 * answers in any case: with an errno, where that process has not ended by its deadline. Of a
 * session one is asked for at a time, so a jail that is slow delays itself alone. Where too
 * many others are read just now, this asks again until it gives up.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "init/io.h"
#include "jail/base/clock.h"
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

static void answer(struct session *s, const struct spawn_answer *a)
{
	struct measuring *m = s->measuring;

	s->measuring = m->next;
	m->came(s, m->owner, a);
	free(m);
}

/* the first of the list; whose process is gone has its answer */
static void send_first(struct session *s)
{
	while (s->measuring && !s->measuring->sent) {
		struct measuring *m = s->measuring;
		const struct state *of = states_find(&s->states, m->state);
		cleanup_fd int whole = -1;
		int pidfd = m->whole || !of ? -1 : of->pidfd;

		if (m->whole)
			pidfd = whole = (int)syscall(SYS_pidfd_open, s->init, 0);
		if (pidfd >= 0) {
			m->sent = true;
			spawn_measure(s, pidfd, m->what, ++s->measure_tag);
			return;
		}
		answer(s, &(struct spawn_answer){ .errnum = ESRCH });
	}
}

void measure_again(struct bell *b)
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
		event_loop_set(&s->serve->hub, &s->measure_again,
			       clock_now_ms() + AGAIN_MS);
		return;
	}
	answer(s, a);
	send_first(s);
}

void measure_end(struct session *s)
{
	event_loop_unset(&s->serve->hub, &s->measure_again);
	while (s->measuring)
		answer(s, &(struct spawn_answer){ .errnum = ECANCELED });
}
