/* SPDX-License-Identifier: MIT */
/*
 * probe.h - are the locks of C libraries free in a process that was forked among threads?
 */
#pragma once

/**
 * probe_locks() - Take every lock of C libraries that can be taken by name, and end
 * otherwise
 *
 * For the child of a fork(2), with one thread and all signals blocked. A lock that
 * another thread held at the fork is held for ever: then this process ends, by SIGALRM,
 * after half a second. The parent forks once more, as there the thread has gone on.
 */
void probe_locks(void);
