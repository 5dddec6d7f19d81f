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
 * @spec:	VALUE, decimal or 0x and hexadecimal, is that of the argument that tells what
 *		is asked, for the calls that have one: see call_telling(). Kept, not copied
 *
 * Return: 0, -EINVAL (no such call, VALUE missing or too much), -EPERM (barred: @e says
 * why), -EEXIST (given twice), or -E2BIG
 */
int allow_add(struct plan *p, const char *spec, struct err *e);

/** allow_check() - Refuse a plan that allows what its own --lock-code refuses */
int allow_check(const struct plan *p, struct err *e);

#endif
