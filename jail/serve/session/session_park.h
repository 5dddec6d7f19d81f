/* SPDX-License-Identifier: MIT */
/*
 * session_park.h - a state that waits does nothing else
 */
#ifndef STEPJAIL_JAIL_SERVE_SESSION_SESSION_PARK_H
#define STEPJAIL_JAIL_SERVE_SESSION_SESSION_PARK_H

#include "jail/serve/session/session.h"

/** park_prepare() - Set up the bell of a new state */
void park_prepare(struct state *state);
/** park_end() - It is not expected to rest any more */
void park_end(struct state *state);
/** park_is_told() - Does serve hear when a process rests? Not without a listener */
bool park_is_told(const struct session *s);
/** park_is_call() - Is it the call by which a process rests? */
bool park_is_call(const struct seccomp_data *call);

/**
 * park_hear() - A process makes that call; it may be the end of a step
 *
 * Return: false: this process need not rest, and its call goes on
 */
bool park_hear(struct session *s, const struct seccomp_notif *n);

/**
 * park_swept() - What a step had left is gone: the step is done, if it is held still
 * @strays:	How many were killed, or -errno where they cannot all be ended
 */
void park_swept(struct step *step, int strays);

/** park_wake() - It was sent a request: let it go, once, now or when it rests */
void park_wake(struct state *state);
/** park_await() - A state, or a process made ready, runs: it must rest soon */
void park_await(struct state *state);
/** park_look() - Are those that rest held still? A stop from outside wakes them */
void park_look(struct session *s);

#endif
