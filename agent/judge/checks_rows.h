/* SPDX-License-Identifier: MIT */
/*
 * checks_rows.h - the table of checks: what each is called, and what is said when it
 * refuses
 * (checks and tests only)
 */
#ifndef STEPJAIL_AGENT_CHECKS_ROWS_H
#define STEPJAIL_AGENT_CHECKS_ROWS_H

#include "agent/judge/checks.h"
#include "agent/session/verdict.h"

struct checks_row {
	const char *name;    /* in the transcript and --json */
	const char *option;  /* where it came from */
	const char *refused; /* what did not pass, as a beginning of a sentence */
	const char *then;    /* what the model is to do; NULL where it is not told */
};

extern const struct checks_row checks_rows[CHECKS_KINDS];

/** checks_ending() - Add how a check came to its end, as in "it ended with exit status 3" */
void checks_ending(const struct verdict_facts *f, struct text *out);

#endif
