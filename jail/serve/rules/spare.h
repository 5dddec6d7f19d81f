/* SPDX-License-Identifier: MIT */
/*
 * spare.h - when a jail that nobody has asked for yet is made: rules alone
 *
 * See session_spare.c, which acts by them.
 */
#ifndef STEPJAIL_JAIL_SERVE_RULES_SPARE_H
#define STEPJAIL_JAIL_SERVE_RULES_SPARE_H

#include <stdbool.h>
#include <stdint.h>

/* Making one takes a core for a few milliseconds. A step that has just begun has both the
 * cores of a small host to itself for as long; most steps are over by then, and one that
 * is not runs for so long that it does not notice. But where several were to be
 * there and none is left, as under a client that opens one after the other, the next one
 * is waited for already. */
#define SPARE_QUIET_MS 5
#define SPARE_PAUSE_MS 1000 /* after a failure */

#define SPARE_NEVER UINT64_MAX

struct spare_sight {
	uint64_t now_ms;
	uint64_t want, have; /* have: also one that is not up yet */
	uint64_t starting;   /* jails of all kinds that are not up yet */
	bool template;       /* there is a template for it, or none is awaited */
	uint64_t steps;      /* that run */
	uint64_t began_ms;   /* the last one of them */
	uint64_t again_ms;   /* not before that, for the last one failed */
};

/**
 * spare_when() - When is one to be made, where nothing else is left to do then?
 *
 * Return: 0 for now, a time to look again at, or SPARE_NEVER: whatever changes that is an
 * event of the loop
 */
uint64_t spare_when(const struct spare_sight *v);

#endif
