/* SPDX-License-Identifier: MIT */
/*
 * session_prefork.c - the process of a step that nobody has asked for yet
 *
 * Theory of operation
 *   Most of a short step's time is a fork, and the page faults that follow it. So when a
 *   step has been answered, the state that its branch is at is asked for the next one's
 *   process at once, all but the source; init/step_wire.h has the rest. It costs 0.3 to
 *   0.5 MB, and a session that has run no more than one step has none.
 *
 *   Such a process waits as a state does, and is treated as one by whoever looks: it is
 *   signalled by nobody, swept by nobody, and no state before its step has run. It is
 *   the next step's of whichever branch is at its state then. When no branch is there
 *   any more, or that state ends, it is ended, and stays in the table of states, as one
 *   that is ending, until init has reaped it.
 */
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "init/io.h"
#include "jail/serve/session/session.h"
#include "jail/serve/session/session_sweep.h"

struct step *prefork_find(const struct session *s, uint32_t from)
{
	for (struct step *step = s->steps; step; step = step->next)
		if (step->waits && step->from == from && !step->unwanted)
			return step;
	return NULL;
}

/* Would one more process come near a limit of the session? */
static bool is_near_limit(const struct session *s, const struct state *of)
{
	const uint64_t *limit = s->serve->plan->limit;
	uint64_t count = s->states.count;

	for (const struct step *step = s->steps; step; step = step->next)
		count++;
	if (limit[LIMIT_PIDS] != NO_LIMIT && count >= limit[LIMIT_PIDS] / 2)
		return true;
	return of->bytes > limit[LIMIT_MEMORY_BYTES] / 2 || memory_is_near(s);
}

void prefork_prepare(struct session *s, uint32_t branch)
{
	int fds[STEP_FDS] = { -1, -1, -1, -1, -1 };
	const struct branch *b = states_branch(&s->states, branch);
	struct state *of = b ? states_find(&s->states, b->head) : NULL;
	struct wire_header h = { 0, WIRE_RUN, 0 };
	struct step *step;
	struct err e;

	/* a session's first step may well be its only one */
	if (s->serve->plan->ahead == AHEAD_NO || s->next_step <= 2 || !of || b->step ||
	    b->lost || prefork_find(s, b->head) || is_near_limit(s, of))
		return;
	h.step = ++s->file_ops; /* file operations count beyond all numbers of steps */
	step = step_make(s, KIND_RUN, h.step, b->name, b->head);
	if (step)
		step->waits = true;
	/* the step that asks for a process itself will tell why none can be made */
	(void)step_begin(step, of, &h, NULL, fds, STEP_FDS_EARLY, &e);
}

void prefork_dismiss(struct state *state)
{
	struct session *s = state->session;

	state_end(state);
	state->step = NULL;
	/* init has told of the end of a process without a pidfd already */
	if (state->pidfd < 0 || states_add(&s->states, state) < 0)
		state_free(state);
}

void prefork_end(struct step *step)
{
	struct state *state = step->state;

	if (state->host) {
		prefork_dismiss(state);
		step_forget(step);
	} else if (!step->unwanted && state->channel.events) {
		step->unwanted = true; /* to be done when the process is there */
	} else {
		step_discard(step);
	}
}

void prefork_prune(struct session *s)
{
	for (struct step *step = s->steps, *next; step; step = next) {
		const struct state *from = states_find(&s->states, step->from);

		next = step->next;
		if (step->waits && !step->unwanted &&
		    !(from && states_is_head(&s->states, from)))
			prefork_end(step);
	}
}
