/* SPDX-License-Identifier: MIT */
/*
 * report.h - one JSON object for each run
 */
#ifndef STEPJAIL_JAIL_WATCH_REPORT_H
#define STEPJAIL_JAIL_WATCH_REPORT_H

#include "init/err.h"
#include "jail/launch/launch.h"
#include "jail/watch/outcome.h"
#include "jail/plan/plan.h"

/**
 * report_open() - Open where the report goes, before anything runs
 * @spec:	A path without symlinks of a file or a character device, or an fd that the
 *		caller left open: digits alone, /dev/fd/N, /dev/stdout, /dev/stderr; or NULL
 * @fd:		Gets a close-on-exec fd, or -1 for no report
 *
 * Room for the report is reserved in a file, so that a full disk is an error before the
 * program runs and not a run without a report after it.
 *
 * Return: 0, or -errno
 */
int report_open(const char *spec, int *fd, struct err *e);

/**
 * report_reserve() - Reserve room in a file for a report that will be large
 * @fd:		From report_open(); anything but a file, or a file opened to append,
 *		is left as it is
 * @more:	Bytes beyond what every report has room for
 *
 * report_write() gives back what was not used.
 *
 * Return: 0, or -errno of fallocate(2)
 */
int report_reserve(int fd, size_t more, struct err *e);

/**
 * report_write() - Write the report
 * @fd:		From report_open(); -1 writes nothing
 * @jail:	What was in force; the launcher's own failure may have left it half made
 *
 * Return: 0, or -errno: the caller must then not exit as if all were well
 */
int report_write(int fd, const struct jail *jail, const struct outcome *o,
		 const struct judgement *j, struct err *e);

/** report_not_enforced() - Write a JSON array of what --allow-missing left out */
void report_not_enforced(FILE *out, const struct jail *jail, const struct outcome *o);

#endif
