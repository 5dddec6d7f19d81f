/* SPDX-License-Identifier: MIT */
/*
 * copier.h - the process that copies /work/out into the folder of --out
 *
 * The watcher can open no path by then, so another process does it: forked before the
 * program starts, and confined before that, too. It keeps what the watcher lacks, and no
 * more:
 *
 *	ids            the caller's, so that the files are the caller's
 *	capabilities   as root CAP_DAC_READ_SEARCH, to read what the program has closed
 *	fds            the jail's /work, the caller's folder, a socket to the watcher
 *	Landlock       reading below /work, making and removing files below the folder; a
 *	               kernel without Landlock gets no copier
 *	seccomp        a table of calls: syscalls.c. No exec, process, socket or signal
 *
 * It begins when all processes of the jail are gone, and says one struct of fixed size.
 */
#pragma once

#include "jail/launch/launch.h"
#include "jail/out/copy.h"

/**
 * copier_start() - Fork it, and see that it is confined and can write to the folder
 * @j:		Complete, and its program has not started
 * @work:	The jail's /work
 * @to:		The caller's folder
 * @socket:	Gets the copier's, close-on-exec
 *
 * Return: 0, or -errno
 */
int copier_start(const struct jail *j, int work, int to, int *socket, struct err *e);

/**
 * copier_collect() - The jail is gone: have all copied, and wait for that
 * @signals:	A signalfd(2) whose signals end it
 * @done:	Filled; where nothing is known its errnum says so
 *
 * It takes as long as --wall-time at most, but no less than 30 s and no more than an
 * hour. The socket is closed, which ends a copier that is not ready.
 */
void copier_collect(int *socket, int signals, const struct plan *p, struct copied *done);
