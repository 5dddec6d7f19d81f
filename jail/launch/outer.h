/* SPDX-License-Identifier: MIT */
/*
 * outer.h - one PID namespace around all jails of a launcher
 *
 * Its procfs shows the jails' processes and nobody else's, so a process that may look at
 * jails can be given that procfs instead of /proc. And the kernel ends all of these
 * processes with the launcher, which is PID 1 there. See pid_namespaces(7).
 */
#pragma once

#include "jail/launch/keeper.h"

/**
 * outer_enter() - Go on as PID 1 of a new PID namespace
 * @k:		Gets the keeper: the process that called this
 * @signals:	A signalfd(2), open in both processes. What the caller is sent, PID 1 is
 *		sent
 * @status:	Gets the exit status of PID 1
 *
 * Where the caller may not make a PID namespace, or change a root directory, it is made
 * in a new user namespace, with all ids of the host's root in it, or the caller's own
 * one. All signals must be blocked. PID 1 has a process group of its own, and looks at
 * processes in the new namespace: see procfs_use().
 *
 * Return: in PID 1: 0. In the caller, when PID 1 and what it left behind are gone: 1.
 * -errno in whichever failed
 */
int outer_enter(struct keeper *k, int signals, int *status, struct err *e);
