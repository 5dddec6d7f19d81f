/* SPDX-License-Identifier: MIT */
/*
 * vet_rows.h - the table of checks: what each is called, and what is said when it refuses
 * (vet and tests only)
 */
#ifndef STEPJAIL_AGENT_VET_ROWS_H
#define STEPJAIL_AGENT_VET_ROWS_H

#include "agent/verdict.h"
#include "agent/vet.h"

struct vet_row {
	const char *name;    /* in the transcript and --json */
	const char *option;  /* where it came from */
	const char *refused; /* what did not pass, as a beginning of a sentence */
	const char *then;    /* what the model is to do; NULL where it is not told */
};

extern const struct vet_row vet_rows[VET_KINDS];

/** vet_ending() - Add how a check came to its end, as in "it ended with exit status 3" */
void vet_ending(const struct verdict_facts *f, struct text *out);

#endif
