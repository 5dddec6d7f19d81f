/* SPDX-License-Identifier: MIT */
/*
 * watched.h - processes for the watch to look at: the test's own process plays init
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "jail/watch/proc_usage.h"

#define MIB (1ULL << 20)
#define CHILDREN_MAX 8
#define TRIES 1500 /* 20 ms apart: only what never comes to be takes so long */

extern pid_t watched_children[CHILDREN_MAX];
extern unsigned int watched_count;

/** watched_can() - Does this kernel list children? If not, that is a skip */
bool watched_can(void);
/** watched_touch() - Map pages that are really there, and that no other process shares */
char *watched_touch(size_t bytes, int flags);
/** watched_start() - A child that runs @act, says so, and sleeps until it is killed */
void watched_start(void (*act)(void));
/** watched_idle() - For a child that does nothing */
void watched_idle(void);
/** watched_adopt() - Orphans become children of the test, as they do of init */
void watched_adopt(void);
/** watched_end() - End all children; their own children end with them */
void watched_end(void);
/** watched_sample() - A first look at the test's children */
void watched_sample(uint64_t limit_bytes, struct proc_usage *w);
/** watched_sample_again() - A later look, with what the ones before have found */
void watched_sample_again(uint64_t limit_bytes, struct proc_usage *w);
