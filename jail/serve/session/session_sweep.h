/* SPDX-License-Identifier: MIT */
/*
 * session_sweep.h - which processes of a session there are, and which of them may stay
 */
#pragma once

#include "jail/serve/session/session_types.h"

/**
 * sweep_adopt() - Is this init's child, with the number that it says? Then hold its pidfd
 *
 * If it has ended already, nobody can tell, but init will tell of its end. Its word is
 * noted then, and believed only when a process ends that is not otherwise known.
 * @told:	Its pid in the jail, as it says
 * @host:	As the kernel says
 * @before:	Another parent that it may have, 0 for none
 */
int sweep_adopt(struct state *state, uint32_t told, pid_t host, pid_t before,
		struct err *e);

/**
 * sweep_step() - A step has ended: kill every process that is neither init, a state nor a
 * running step's, and then call park_swept()
 *
 * That is at once where there is none. Called again, it looks at all of them once more.
 */
void sweep_step(struct step *step);

/**
 * sweep_states() - The same for processes that waiting states have made: see restless
 * @rests:	One that rests, and has left something; NULL: only while no step runs
 */
void sweep_states(struct session *s, const struct state *rests);

/** sweep_stop() - End the walk; park_swept() is not called */
void sweep_stop(struct session *s);

/** sweep_inside() - A line of /proc/PID/status, as the innermost PID namespace counts; or
 * -1 */
pid_t sweep_inside(const char *text, const char *key);

/** sweep_bytes() - Memory that is a state's own at the most; 0 if unknown */
uint64_t sweep_bytes(const struct state *state);

/** sweep_known() - The state, of a step as well, that this process is, or NULL */
struct state *sweep_known(const struct session *s, pid_t host);

/** sweep_of_pid() - The same by its pid in the jail; a state also while it is ending */
struct state *sweep_of_pid(const struct session *s, pid_t pid);

/** sweep_left() - Kill what a step has moved out of, if it is there still */
void sweep_left(const struct state *state);

/** sweep_has_none() - Has this process no child but those that are known? */
bool sweep_has_none(const struct session *s, pid_t host);
