/* SPDX-License-Identifier: MIT */
/*
 * session_memory.h - is there memory for one more process of a session?
 */
#ifndef STEPJAIL_JAIL_SESSION_MEMORY_H
#define STEPJAIL_JAIL_SESSION_MEMORY_H

#include <stdbool.h>

#include "jail/session.h"

/** memory_is_near() - Has the jail more than three quarters of its memory? */
bool memory_is_near(const struct session *s);

/**
 * memory_allows() - May this state fork, or could a state be killed for that?
 *
 * Where not, waits first for processes that are ending; for one that does not, 100 ms.
 */
bool memory_allows(const struct session *s, const struct state *of);

#endif
