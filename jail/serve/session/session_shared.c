/* SPDX-License-Identifier: MIT */
/*
 * session_shared.c - what a state shares with the steps that came from it
 *
 * A fork copies memory, but not what is mapped as shared, nor the offset of an open file.
 * A step that changes these has changed them for the state that it came from, and for all
 * states and branches in between. Where a branch goes back to a state, its answer says
 * whether that state has any: it is asked for then (measure_ask()), and the answer
 * waits. Later frames of the same branch wait behind it, up to HELD_BYTES. Beyond that,
 * and if it cannot be known, the state counts as one that shares everything.
 */
#include <stdlib.h>
#include <string.h>

#include "jail/serve/session/session.h"

#define SHARES_ALL (SPAWN_SHARES_MEMORY | SPAWN_SHARES_OFFSETS)
#define HELD_BYTES QUEUE_LOW

/* an answer that waits for the spawner */
struct waiting {
	struct waiting *next;
	uint32_t branch;
	char *json;        /* NULL: it was sent, and the spawner's answer is of no use */
	struct queue held; /* frames of the same branch that come after it */
};

const char *shared_text(uint64_t shares)
{
	static const char *const texts[] = {
		[0] = "[]",
		[SPAWN_SHARES_MEMORY] = "[\"shared-memory\"]",
		[SPAWN_SHARES_OFFSETS] = "[\"file-offsets\"]",
		[SHARES_ALL] = "[\"shared-memory\",\"file-offsets\"]",
	};

	return texts[shares & SHARES_ALL];
}

static uint64_t told(const struct spawn_answer *a)
{
	return a->errnum ? SHARES_ALL : a->bytes & SHARES_ALL;
}

/* The state that a branch is at, unless its process has ended by itself. */
static struct state *head(struct session *s, uint32_t branch)
{
	const struct branch *b = states_branch(&s->states, branch);

	return b && !b->lost ? states_find(&s->states, b->head) : NULL;
}

static void take_of_step(struct session *s, void *owner, const struct spawn_answer *a)
{
	struct step *step = s->steps;

	while (step && step != owner)
		step = step->next;
	if (!step)
		return;
	step->shares = told(a);
	done_step(step);
}

bool shared_ask(struct step *step)
{
	struct session *s = step->session;
	const struct state *state = head(s, step->branch);

	if (!state || step->have_shares)
		return false;
	step->have_shares = true;
	measure_ask(s, SPAWN_SHARED, state, take_of_step, step);
	return true;
}

/* Send the first answer that waits, and the frames behind it. */
static void say_first(struct session *s, uint64_t shares)
{
	struct waiting *w = s->waiting;
	const struct serve_at at = { w->branch };
	struct queue *queue = &s->serve->queue;
	size_t length = strlen(w->json);
	int r;

	length += (size_t)snprintf(w->json + length, SHARED_BYTES,
				   ",\"not_rolled_back\":%s}", shared_text(shares));
	r = queue_put(queue, WIRE_STATE, s->number, &at, sizeof(at), w->json, length);
	serve_lacks(s->serve, r < 0 ? r : queue_move(queue, &w->held), length);
	s->waiting = w->next;
	free(w->json);
	w->json = NULL;
}

static void take(struct session *s, void *owner, const struct spawn_answer *a)
{
	struct waiting *w = owner;

	/* the spawner answers in the order of the requests */
	if (w->json)
		say_first(s, told(a));
	free(w);
}

void shared_wait(struct session *s, uint32_t branch, const char *json)
{
	struct waiting *w = calloc(1, sizeof(*w)), **last = &s->waiting;
	const struct state *state = head(s, branch);
	size_t size = strlen(json) + SHARED_BYTES;

	if (w)
		w->json = malloc(size);
	if (!w || !w->json) {
		free(w);
		serve_lacks(s->serve, -ENOMEM, size);
		return;
	}
	(void)snprintf(w->json, size, "%s", json);
	w->branch = branch;
	while (*last)
		last = &(*last)->next;
	*last = w;
	measure_ask(s, SPAWN_SHARED, state, take, w);
}

struct queue *shared_holds(struct session *s, uint32_t branch)
{
	struct waiting *last = NULL;

	for (struct waiting *w = s->waiting; w; w = w->next)
		if (w->branch == branch)
			last = w;
	if (!last || queue_length(&last->held) < HELD_BYTES)
		return last ? &last->held : NULL;
	while (s->waiting)
		say_first(s, SHARES_ALL);
	return NULL;
}
