/* SPDX-License-Identifier: MIT */
/*
 * session_rest.h - a state that waits does nothing else
 */
#ifndef STEPJAIL_JAIL_SESSION_REST_H
#define STEPJAIL_JAIL_SESSION_REST_H

#include "jail/session.h"

/** rest_prepare() - A new state: its bell has somebody to ring for */
void rest_prepare(struct state *state);
/** rest_end() - It is not expected to rest any more */
void rest_end(struct state *state);
/** rest_is_told() - Is serve told of it when a process rests? */
bool rest_is_told(const struct session *s);
/** rest_is_call() - Is it the call by which one rests? */
bool rest_is_call(const struct seccomp_data *call);

/**
 * rest_hear() - A process makes that call; it may be the end of a step
 *
 * Return: false: it is none that is to rest, and its call goes on
 */
bool rest_hear(struct session *s, const struct seccomp_notif *n);

/**
 * rest_swept() - What an ended step had left is gone: it is done, if it is held still
 * @strays:	How many were killed, or -errno where they cannot all be ended
 */
void rest_swept(struct step *step, int strays);

/** rest_wake() - It was sent a request: let it go, once, now or when it rests */
void rest_wake(struct state *state);
/** rest_await() - A state, or a process made ready, runs: it must rest soon */
void rest_await(struct state *state);
/** rest_look() - Are those that rest held still? A stop from outside wakes them */
void rest_look(struct session *s);

#endif
