/* SPDX-License-Identifier: MIT */
/*
 * cancel.h - signals that end the launcher; its jails end first
 */
#pragma once

#include <signal.h>

#include "init/err.h"

/**
 * cancel_signals() - The signals that end the launcher
 *
 * Without those that are ignored already, as nohup(1) and a shell's background have it.
 */
sigset_t cancel_signals(void);

/**
 * cancel_open() - Block all signals of the process for good, and get an fd that tells of
 * cancel_signals()
 * @fd:		Gets a signalfd(2), close-on-exec
 *
 * A terminal's job control (SIGTSTP, SIGCONT) works as before.
 *
 * Return: 0, or -errno
 */
int cancel_open(int *fd, struct err *e);
