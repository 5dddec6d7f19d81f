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
 * fork_ended() - Wait for threads that are about to end, and count those that stay
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
 * fork_among() - fork_sibling() of a process with more threads than the calling one
 *
 * For a caller that holds the GIL. The sibling has no
 * thread beside this one, and the locks that C libraries take for a moment are free in
 * it. Other threads are waited for, until they wait for the GIL or for something else
 * that takes its time; one that computes without the GIL goes on, and is waited for until
 * 50 ms of CPU time are used.
 *
 * Return: as fork_sibling()
 */
pid_t fork_among(void);
