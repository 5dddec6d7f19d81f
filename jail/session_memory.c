/* SPDX-License-Identifier: MIT */
/*
 * session_memory.c - is there memory for one more process? See session_memory.h
 *
 * Theory of operation
 *   Where a leaf's memory is used up, the kernel kills one of its processes: the largest,
 *   those aside that a score of 1000 puts before all others. A running step has that
 *   score. The process that is just made for one has it as soon as it is known, and the
 *   fork itself is the state's: if memory runs out then, and no other step runs, a state
 *   is killed. So no state is asked to fork where its leaf has no room for that. A step
 *   that is refused so would have been killed for memory at its first lines.
 */
#include <poll.h>
#include <stdlib.h>

#include "jail/proc.h"
#include "jail/session_memory.h"

/* beside page tables; the kernel's own of a process, and the first pages that each writes */
#define FORK_BYTES (128u << 10)
#define END_WAIT_MS 100 /* what is killed gives its memory back long before */

static uint64_t near_bytes(const struct session *s)
{
	return s->serve->plan->limit[LIMIT_MEMORY_BYTES] / 4 * 3;
}

static uint64_t used_bytes(const struct session *s)
{
	return s->run.jail.limited ? cgroup_memory(s->run.jail.cgroup.leaf, near_bytes(s))
				   : s->memory_bytes;
}

bool memory_is_near(const struct session *s)
{
	return used_bytes(s) > near_bytes(s);
}

/* those of the child are as large as its own */
static uint64_t page_tables(const struct state *of)
{
	char text[4096];
	const char *at;

	if (proc_read(of->host, "status", text, sizeof(text)) <= 0)
		return 0;
	at = posture_find(text, "VmPTE:");
	return at ? strtoull(at, NULL, 10) * 1024 : 0;
}

static bool has_room(const struct session *s, const struct state *of)
{
	uint64_t bytes = used_bytes(s);

	return bytes <= near_bytes(s) ||
	       bytes + FORK_BYTES + page_tables(of) <=
		       s->serve->plan->limit[LIMIT_MEMORY_BYTES];
}

/* states that a ROLLBACK has just ended, for one, may not have given back theirs */
static void await_ends(const struct session *s)
{
	for (unsigned int i = 0; i < s->states.count; i++) {
		const struct state *state = s->states.state[i];
		struct pollfd gone = { .fd = state->pidfd, .events = POLLIN };

		if (state->ending && state->pidfd >= 0 &&
		    poll(&gone, 1, END_WAIT_MS) == 0)
			return; /* all were killed by now: one that stays, stays */
	}
}

bool memory_allows(const struct session *s, const struct state *of)
{
	/* of swap nobody knows how much there is */
	if (!s->run.jail.limited || s->serve->plan->limit[LIMIT_SWAP_BYTES] > 0 ||
	    has_room(s, of))
		return true;
	await_ends(s);
	return has_room(s, of);
}
