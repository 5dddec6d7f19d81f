/* SPDX-License-Identifier: MIT */
/*
 * template_plan.h - write what a template is told of its clones' plan
 *
 * The template reads it with warm_plan_map().
 */
#ifndef STEPJAIL_JAIL_SERVE_TEMPLATE_TEMPLATE_PLAN_H
#define STEPJAIL_JAIL_SERVE_TEMPLATE_TEMPLATE_PLAN_H

#include "init/err.h"
#include "jail/plan/plan.h"
#include "jail/walls/mount.h"

/**
 * template_plan_write() - Write a struct warm_plan
 * @p:		Of the jails that are to be cloned
 * @landlock_abi:	As landlock_abi() has it
 *
 * Return: a sealed memfd, or -errno
 */
int template_plan_write(const struct plan *p, const struct sources *s, int landlock_abi,
			struct err *e);

#endif
