/* SPDX-License-Identifier: MIT */
/*
 * ready.c - when a jail that nobody has asked for yet is made: see ready.h
 */
#include "jail/ready.h"

uint64_t ready_when(const struct ready_sight *v)
{
	uint64_t at_ms = v->again_ms;

	/* one at a time, and the client's own first */
	if (v->have >= v->want || v->standing || !v->stock)
		return READY_NEVER;
	if (v->steps && (v->have || v->want == 1) && at_ms < v->began_ms + READY_QUIET_MS)
		at_ms = v->began_ms + READY_QUIET_MS;
	return at_ms <= v->now_ms ? 0 : at_ms;
}

bool ready_is_stale(bool replaced, uint64_t age_ms, uint64_t limit_ms)
{
	return replaced && limit_ms != UINT64_MAX && age_ms >= limit_ms;
}

uint64_t ready_pause_ms(unsigned int failures)
{
	uint64_t ms = READY_PAUSE_MS;

	while (failures-- > 1 && ms < READY_PAUSE_MAX_MS)
		ms *= 2;
	return ms < READY_PAUSE_MAX_MS ? ms : READY_PAUSE_MAX_MS;
}
