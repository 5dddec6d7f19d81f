/* SPDX-License-Identifier: MIT */
/*
 * run.h - one run of a plan, from its launch to its judgement
 */
#pragma once

#include "jail/watch/outcome.h"

/**
 * run_plan() - Run a plan's program in a jail and wait for its end
 * @report:	fd for the report, from report_open(); -1 for none
 * @out:	fd of a folder for what is in /work/out, from out_open(); -1 for none
 * @j:		Filled in any case
 * @e:		Filled when the report or captured output could not be written, or the
 *		cgroup leaf not removed
 *
 * Blocks all signals of the process for good, and takes SIGINT, SIGTERM, SIGHUP and
 * SIGQUIT as the wish to cancel. While captured output is passed on, after the report,
 * these four end the process. To be called once in a process.
 *
 * Return: 0, or -errno; @j tells what became of the program all the same
 */
int run_plan(const struct plan *p, int report, int out, struct judgement *j,
	     struct err *e);

/**
 * out_open() - Make the folder of --out where it is missing, and open it
 * @path:	Without symlinks; NULL for none
 * @fd:		Gets a close-on-exec fd, or -1 for none
 *
 * Return: 0, or -errno; -ENOTEMPTY where it has something in it
 */
int out_open(const char *path, int *fd, struct err *e);

/**
 * run_tell() - Say on stderr which limit ended the program, what --out copied, and which
 * calls were refused
 *
 * Each is one line. Nothing is said of a program that met none of it.
 */
void run_tell(const struct outcome *o, const struct judgement *j, const struct plan *p);
