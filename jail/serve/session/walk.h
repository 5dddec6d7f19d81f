/* SPDX-License-Identifier: MIT */
/*
 * walk.h - a visit to every process of a jail, some of them in each turn
 */
#pragma once

#include "jail/watch/proc_usage.h"

/* a visit to every process below init that takes several turns; zeroed: at its start */
struct walk {
	struct found found, above; /* in the same place, its parent */
	unsigned int at; /* the next one to visit; 0: init was not looked at yet */
};

/**
 * walk_each() - Visit the processes below init, parents first
 * @k:		Goes on from there; at = 0 begins again. Freed by walk_end()
 * @most:	How many to visit now
 * @visit:	Gets a pid and its parent's; false: what is below it is not visited
 *
 * Return: 0 (all were visited), 1 (there are more), or as proc_usage_sample()
 */
int walk_each(struct walk *k, pid_t init, unsigned int most,
	      bool (*visit)(void *owner, pid_t pid, pid_t above), void *owner,
	      struct err *e);

/** walk_end() - Free what a walk has, and zero it */
void walk_end(struct walk *k);
