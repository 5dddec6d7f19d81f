/* SPDX-License-Identifier: MIT */
/*
 * run_confine.h - the launcher of `run` becomes a watcher
 */
#ifndef STEPJAIL_JAIL_WATCH_RUN_CONFINE_H
#define STEPJAIL_JAIL_WATCH_RUN_CONFINE_H

#include "jail/watch/run_loop.h"

/**
 * run_confine() - Give up every right that watching this run does not take: confine.h
 * @run:	Stands; nothing that its program wrote was read
 *
 * The keeper takes no more orders than a watcher may give. outcome.watcher tells what
 * reads back.
 *
 * Return: 0, or -errno: the gate must then not be opened
 */
int run_confine(struct run *run, struct err *e);

#endif
