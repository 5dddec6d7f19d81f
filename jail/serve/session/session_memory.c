/* SPDX-License-Identifier: MIT */
/*
 * session_memory.c - is there room for one more process? See session.h
 *
 * Theory of operation
 *   Where a leaf's memory is used up, the kernel kills one of its processes: the largest,
 *   those aside that a score of 1000 puts before all others. A running step has that
 *   score. The process that is just made for one has it as soon as it is known, and the
 *   fork itself is the state's: if memory runs out then, and no other step runs, a state
 *   is killed. So no state is asked to fork where its leaf has no room for that. A step
 *   that is refused so would have been killed for memory at its first lines. Where states
 *   are just ending, the request waits for all that they give back, 2 s at the most,
 *   and the loop goes on: the step behind a ROLLBACK has the memory that it freed.
 *   So does one that would find --pids used up by them.
 */
#include <stdlib.h>
#include <string.h>

#include "jail/serve/session/session.h"

/* what a fork takes beside page tables: the kernel's own structures, and the pages that
 * both processes write until the kernel would kill the new one first */
#define FORK_BYTES (384u << 10)
#define END_WAIT_MS 2000 /* a killed process has ended long before, on most hosts */
#define AGAIN_MS 2

/* a request that waits for memory, and its fds */
struct asking {
	struct step *step;
	struct bell again;
	uint64_t until_ms;
	struct wire_header head;
	int fds[STEP_FDS];
	size_t count;
	unsigned char payload[];
};

/* The page tables that a child will have: as large as those of its parent. */
static uint64_t page_tables(const struct state *of)
{
	return procfs_status(of->host, "VmPTE:") * 1024;
}

/* What the leaf uses, once that is more than three quarters of --memory; else 0 */
static uint64_t used_bytes(const struct session *s)
{
	const uint64_t *limit = s->serve->plan->limit;
	uint64_t near = limit[LIMIT_MEMORY_BYTES] / 4 * 3, bytes;

	/* where the jail may swap, nobody knows how much memory there is */
	if (!s->limited || limit[LIMIT_SWAP_BYTES] > 0)
		return 0;
	bytes = cgroup_memory(&s->cgroup, near);
	return bytes <= near ? 0 : bytes;
}

bool memory_allows(const struct session *s, const struct state *of)
{
	uint64_t bytes = used_bytes(s);

	return bytes == 0 || bytes + FORK_BYTES + page_tables(of) <=
				     s->serve->plan->limit[LIMIT_MEMORY_BYTES];
}

/* Will memory that is short, or a process, be given back soon? States that a ROLLBACK has
 * just ended may not have done so yet, nor those of earlier steps where init comes late
 * to reap them. */
static bool is_coming(const struct session *s)
{
	uint64_t ends = 0, most = s->serve->plan->limit[LIMIT_PIDS];

	for (unsigned int i = 0; i < s->states.count; i++)
		if (s->states.state[i]->ending)
			ends += 1 + s->states.state[i]->strays;
	return ends > 0 &&
	       (s->states.count >= most || ends > most / 2 || used_bytes(s) > 0);
}

void memory_forget(struct step *step)
{
	struct asking *a = step->asking;

	if (!a)
		return;
	step->asking = NULL;
	event_loop_unset(&step->session->serve->loop, &a->again);
	for (size_t i = 0; i < a->count; i++)
		io_close_fd(&a->fds[i]);
	free(a);
}

static void ring_again(struct bell *b)
{
	struct asking *a = b->owner;
	struct step *step = a->step;
	struct session *s = step->session;
	struct state *of = states_find(&s->states, step->from);
	uint64_t now_ms = clock_now_ms();
	struct err e;
	int r;

	if (of && now_ms < a->until_ms && is_coming(s)) {
		event_loop_set(&s->serve->loop, b, now_ms + AGAIN_MS);
		return;
	}
	r = step_ask(step, of, &a->head, a->payload, a->fds, a->count, &e);
	memory_forget(step);
	if (r < 0)
		step_refuse(step, refusal_of_step(e.errnum), 0, e.text);
}

bool memory_wait(struct step *step, const struct wire_header *h, const void *payload,
		 int *fds, size_t count)
{
	struct session *s = step->session;
	struct asking *a = NULL;

	if (!step->asking && is_coming(s))
		a = calloc(1, sizeof(*a) + h->length);
	if (!a)
		return false;
	a->step = step;
	a->head = *h;
	if (h->length)
		memcpy(a->payload, payload, h->length);
	step->asking = a;
	for (; a->count < count; a->count++)
		a->fds[a->count] = io_steal_fd(&fds[a->count]);
	a->until_ms = clock_now_ms() + END_WAIT_MS;
	a->again = (struct bell){ .ring = ring_again, .owner = a };
	event_loop_set(&s->serve->loop, &a->again, clock_now_ms() + AGAIN_MS);
	return true;
}
