/* SPDX-License-Identifier: MIT */
/*
 * allow.h - system calls that a policy lets through beyond jail/plan/syscalls.c
 */
#ifndef STEPJAIL_JAIL_PLAN_ALLOW_H
#define STEPJAIL_JAIL_PLAN_ALLOW_H

#include "init/err.h"
#include "jail/plan/plan.h"

/**
 * allow_add() - Add one "NAME" or "NAME=VALUE" to a plan
 * @spec:	Kept, not copied. VALUE, in decimal or in hexadecimal behind 0x, must be
 *		given for the calls of call_telling(): only calls with that argument are
 *		allowed
 *
 * Return: 0, -EINVAL (no such call; VALUE missing, or given to another call), -EPERM (no
 * policy may allow it: @e says why), -EEXIST (given twice), or -E2BIG
 */
int allow_add(struct plan *p, const char *spec, struct err *e);

/** allow_check() - Refuse a plan that allows a call which its own --lock-code refuses */
int allow_check(const struct plan *p, struct err *e);

#endif
