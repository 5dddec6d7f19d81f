/* SPDX-License-Identifier: MIT */
/*
 * probe.h - try one thing that a jail needs, in a child process of its own
 */
#pragma once

#include "jail/plan/plan.h"

/* each returns 0, or -errno and the line that run would print in the same place */

/**
 * probe_in_child() - Make a user namespace as a jail has it, and use a capability in it
 * @flags:	Namespaces beside it, as clone(2) names them
 * @act:	Called in there; or NULL
 */
int probe_in_child(unsigned long flags, int (*act)(struct err *e), struct err *e);

/** probe_tmpfs(), probe_overlay(), probe_proc() - Make a detached mount of it, in such a
 * child */
int probe_tmpfs(struct err *e);
int probe_overlay(struct err *e);
int probe_proc(struct err *e);

/**
 * probe_jail() - Start a whole jail, up to the exec of its program
 * @p:		Made by option_parse(); its program is not started
 */
int probe_jail(const struct plan *p, struct err *e);
