/* SPDX-License-Identifier: MIT */
/*
 * evalshow.h - an evaluation's progress, and its results as a table or as JSON
 */
#ifndef STEPJAIL_AGENT_EVALSHOW_H
#define STEPJAIL_AGENT_EVALSHOW_H

#include "agent/confine/confined.h"
#include "agent/eval/evalbook.h"
#include "agent/show/show.h"

struct evalshow {
	struct show *show;
	const struct evalbook *book;
	const struct confined *confined;
	const char *doing; /* "asked" or "run" */
	bool bar;          /* the progress is drawn over itself */
	size_t ended, all; /* of what is done now */
	uint64_t started_ms;
};

/** evalshow_step() - One more has ended; 0, or -errno where that cannot be shown */
int evalshow_step(struct evalshow *v, struct err *e);

/** evalshow_end() - End the bar's line, if there is one */
void evalshow_end(struct evalshow *v);

/** evalshow_table() - What did not pass, the verdicts, and pass@k */
int evalshow_table(struct evalshow *v, struct err *e);

/** evalshow_json() - Write the same as one object to stdout */
int evalshow_json(struct evalshow *v, struct err *e);

/** evalshow_passed() - Samples that passed */
size_t evalshow_passed(const struct evalbook *b);

#endif
