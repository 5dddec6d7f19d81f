/* SPDX-License-Identifier: MIT */
/*
 * judge.h - who is asked before a reply is taken for the answer
 *
 * A way of working, the user's tests, a check of the answer: each is a judge, and the
 * answer stands when all of them, asked in order, let it stand. A model whose answer does
 * not is told why and goes on; that is a step like a reply that cannot be used.
 */
#ifndef STEPJAIL_AGENT_JUDGE_H
#define STEPJAIL_AGENT_JUDGE_H

#include "agent/base/text.h"
#include "init/err.h"

struct judge {
	const char *name; /* in the transcript and in what is shown */
	/*
	 * Does this answer stand? 1; 0, with @words for the model, each line of a jail's
	 * among them behind ESCAPE_MARK and escaped; -EINTR (a signal came); -errno (our
	 * own failure, which ends the task)
	 */
	int (*ask)(void *arg, const struct text *answer, struct text *words,
		   struct err *e);
	void *arg;
};

#endif
