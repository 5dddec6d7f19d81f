/* SPDX-License-Identifier: MIT */
/*
 * plan_deterministic.h - what --deterministic and --clock-start add to a plan
 *
 * The jail's own part is walls/deterministic.h.
 */
#ifndef STEPJAIL_JAIL_PLAN_PLAN_DETERMINISTIC_H
#define STEPJAIL_JAIL_PLAN_PLAN_DETERMINISTIC_H

#include "init/err.h"
#include "jail/plan/plan.h"

/**
 * plan_deterministic_check_start() - Is this a time that a clock can start at? 0 or
 * -errno
 */
int plan_deterministic_check_start(const char *text, struct err *e);

/**
 * plan_deterministic_complete() - Refuse what contradicts itself, and tell the program by
 * its environment
 *
 * The variables' texts are static: one plan of a process at a time may have them.
 *
 * Return: 0, -EINVAL, or -E2BIG (too many variables)
 */
int plan_deterministic_complete(struct plan *p, struct err *e);

#endif
