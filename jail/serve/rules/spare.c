/* SPDX-License-Identifier: MIT */
/*
 * spare.c - when a jail that nobody has asked for yet is made: see spare.h
 */
#include "jail/serve/rules/spare.h"

uint64_t spare_when(const struct spare_sight *v)
{
	uint64_t at_ms = v->again_ms;

	/* one at a time, and the client's own first */
	if (v->have >= v->want || v->starting || !v->template)
		return SPARE_NEVER;
	if (v->steps && (v->have || v->want == 1) && at_ms < v->began_ms + SPARE_QUIET_MS)
		at_ms = v->began_ms + SPARE_QUIET_MS;
	return at_ms <= v->now_ms ? 0 : at_ms;
}
