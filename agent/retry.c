/* SPDX-License-Identifier: MIT */
/*
 * retry.c - whether and when to send again: see retry.h
 */
#include "agent/retry.h"

#define FIRST_WAIT_MS 500
#define LONGEST_WAIT_MS 20000

static uint64_t backoff_ms(uint64_t attempt, uint64_t random)
{
	uint64_t wait_ms = FIRST_WAIT_MS;

	while (--attempt > 0 && wait_ms < LONGEST_WAIT_MS)
		wait_ms *= 2;
	if (wait_ms > LONGEST_WAIT_MS)
		wait_ms = LONGEST_WAIT_MS;
	return wait_ms / 2 + random % (wait_ms / 2 + 1);
}

enum retry_answer retry_decide(const struct retry_facts *f, uint64_t *wait_ms)
{
	bool passes = f->status == 0 || f->status == 429 ||
		      (f->status >= 500 && f->status <= 599);

	*wait_ms = 0;
	if (!passes || f->quota)
		return RETRY_NEVER;
	if (f->attempt > f->retries)
		return RETRY_WORN_OUT;
	if (f->retry_after_ms)
		*wait_ms = f->retry_after_ms + f->random % (f->retry_after_ms / 10 + 1);
	else
		*wait_ms = backoff_ms(f->attempt, f->random);
	return *wait_ms >= f->left_ms ? RETRY_NO_TIME : RETRY_YES;
}
