/* SPDX-License-Identifier: MIT */
/*
 * session_memory.h - is there memory for one more process of a session?
 */
#ifndef STEPJAIL_JAIL_SERVE_SESSION_SESSION_MEMORY_H
#define STEPJAIL_JAIL_SERVE_SESSION_SESSION_MEMORY_H

#include <stdbool.h>

#include "jail/serve/session/session.h"

/** memory_is_near() - Has the jail more than three quarters of its memory? */
bool memory_is_near(const struct session *s);

/** memory_allows() - May this state fork, or could a state be killed for that? */
bool memory_allows(const struct session *s, const struct state *of);

/**
 * memory_wait() - Is memory about to come? Then step_ask() is called again, or refuses
 * @fds:	They stay the caller's
 *
 * Return: false: there is nothing to wait for
 */
bool memory_wait(struct step *step, const struct wire_header *h, const void *payload,
		 const int *fds, size_t count);

/** memory_forget() - Its request waits no more */
void memory_forget(struct step *step);

#endif
