/* SPDX-License-Identifier: MIT */
/*
 * fork.h - forks of an interpreter that the C library does not offer
 */
#pragma once

#include <sys/types.h>

#include "init/err.h"

/**
 * fork_prepare() - Find out where the C library keeps this thread's id
 * @e:		Filled on failure
 *
 * Call in the main thread, where no signal's handler can run and there is no other
 * thread. What it finds holds for every process forked from this one, where it does
 * nothing.
 *
 * Return: 0, or -ENOTSUP (a C library that keeps it elsewhere)
 */
int fork_prepare(struct err *e);

/** fork_child_libc() - What the C library needs of a child of a raw clone(2) */
void fork_child_libc(void);

/**
 * fork_sibling() - Fork a process whose parent is this one's parent
 *
 * For a process with one thread: no lock can be held, so none of what fork(3) does about
 * locks is needed. pthread_atfork(3)'s functions do not run.
 *
 * Return: as fork(2), but -errno; -EBUSY when there are other threads
 */
pid_t fork_sibling(void);

/**
 * fork_threads() - How many threads this process has beside the calling one
 *
 * Return: that, or -ENOENT: there may be some, but no /proc to count them by
 */
int fork_threads(void);

/**
 * fork_ended() - Wait for threads that are about to end
 * @known:	How many Python has beside this one
 *
 * What Python knows no more still frees its stack, which may be large, and may have to
 * wait for a processor: it runs until it is gone. Those of C libraries, which stay, sleep
 * soon; one that computes is waited for until 250 ms of CPU time are used. For a caller
 * that holds the GIL, so that @known stays true.
 *
 * Return: as fork_threads()
 */
int fork_ended(int known);

/**
 * fork_settle() - Wait until none of the other threads runs
 *
 * For a caller that holds the GIL: they wait for it then, or for something that takes its
 * time, and the locks that C libraries take for a moment are free. One that computes
 * without the GIL goes on; it is waited for until 50 ms of CPU time are used.
 */
void fork_settle(void);

/**
 * fork_hold() - Take the mutexes of C libraries that fork(3) does not know of
 *
 * SQLite has some that all connections share, and threads that compute in it, without the
 * GIL, hold one or another most of the time. Held by a thread that is not there after a
 * fork, it would stay so for ever. Waits for them, for a second or more; then it takes
 * none. Call fork_release() in parent and child.
 */
void fork_hold(void);

/** fork_release() - Give back what fork_hold() has taken */
void fork_release(void);
