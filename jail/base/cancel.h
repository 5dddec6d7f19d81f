/* SPDX-License-Identifier: MIT */
/*
 * cancel.h - signals that end the launcher; its jails end first
 */
#ifndef STEPJAIL_JAIL_BASE_CANCEL_H
#define STEPJAIL_JAIL_BASE_CANCEL_H

#include <signal.h>

#include "init/err.h"

/**
 * cancel_signals() - The signals that end the launcher, but for those that its caller
 * ignores, as by nohup(1) and in the background of a shell
 */
sigset_t cancel_signals(void);

/**
 * cancel_open() - Block all signals of the process for good, and learn of these by an fd
 * @fd:		Gets a signalfd(2), close-on-exec
 *
 * Those of a terminal's job control stay as they are.
 *
 * Return: 0, or -errno
 */
int cancel_open(int *fd, struct err *e);

#endif
