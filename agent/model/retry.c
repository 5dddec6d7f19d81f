/* SPDX-License-Identifier: MIT */
/*
 * retry.c - whether and when to send again: see retry.h
 */
#include "agent/model/retry.h"

#define LONGEST_WAIT 40 /* times the first one */

enum retry_answer retry_decide(const struct retry_facts *f, uint64_t *wait_ms)
{
	bool passes = f->status == 0 || f->status == 408 || f->status == 429 ||
		      (f->status >= 500 && f->status <= 599);

	uint64_t most_ms = LONGEST_WAIT * f->first_wait_ms;
	uint64_t backoff_ms = f->first_wait_ms;

	*wait_ms = 0;
	if (!passes || f->quota)
		return RETRY_NEVER;
	if (f->attempt > f->retries)
		return RETRY_WORN_OUT;
	for (uint64_t i = 1; i < f->attempt && backoff_ms < most_ms; i++)
		backoff_ms *= 2;
	if (backoff_ms > most_ms)
		backoff_ms = most_ms;
	if (f->retry_after_ms)
		*wait_ms = f->retry_after_ms + f->random % (f->retry_after_ms / 10 + 1);
	else
		*wait_ms = backoff_ms / 2 + f->random % (backoff_ms / 2 + 1);
	return *wait_ms >= f->left_ms ? RETRY_NO_TIME : RETRY_YES;
}
