/* SPDX-License-Identifier: MIT */
/*
 * report.h - one JSON object for each run
 */
#pragma once

#include "jail/watch/outcome.h"

/**
 * report_open() - Open where the report goes, before anything runs
 * @spec:	A path without symlinks of a file or a character device, or an fd that the
 *		caller left open: digits alone, /dev/fd/N, /dev/stdout, /dev/stderr; or
 *		NULL
 * @output_max:	Most bytes of captured output in the report: capture_print_max()
 * @fd:		Gets a close-on-exec fd, or -1 for no report
 *
 * Space for the report is reserved in a file, unless the file was opened to append, so
 * that a full disk is an error before the program runs. report_write() gives back what it
 * has not used.
 *
 * Return: 0, or -errno
 */
int report_open(const char *spec, size_t output_max, int *fd, struct err *e);

/**
 * report_is_own_file() - Is it a file that is not open for appending?
 *
 * Others may write to a file that is. @st is filled when it is one.
 */
bool report_is_own_file(int fd, struct stat *st);

/**
 * report_write() - Write the report
 * @fd:		From report_open(); -1 writes nothing
 * @jail:	What was in force; half made if the launcher failed
 *
 * Return: 0, or -errno: stepjail must then exit with a failure
 */
int report_write(int fd, const struct jail *jail, const struct outcome *o,
		 const struct judgement *j, struct err *e);

/**
 * report_limits() - Write the member "limits": those that explain an end
 * @limit:	Their values, LIMIT_COUNT of them: a step's may be others than the plan's
 */
void report_limits(const struct judgement *j, const uint64_t *limit, FILE *out);

/**
 * report_posture() - Write a posture as a JSON object, or null where it is not known
 *
 * With the digests of the plan, of the program's words and of the root tree.
 */
void report_posture(const struct posture *p, const struct jail *jail, FILE *out);

/** report_digests() - The members of that which are no part of a posture: of the plan, of
 * the program's words and of the root tree
 */
void report_digests(const struct plan *p, const struct tree *root, FILE *out);

/**
 * report_not_enforced() - Write the member "not_enforced", an array of the walls that
 * --allow-missing left out, with what stands in for each; in not_enforced.c
 * @listened:	stepjail has the listener for violations, or is not known to lack it
 *
 * A wall that --allow-missing names, and that was there all the same, is not listed.
 */
void report_not_enforced(const struct jail *jail, bool listened, FILE *out);

/** report_tree() - root_sha256 and root_verified, as members of a JSON object */
void report_tree(const struct tree *t, FILE *out);
