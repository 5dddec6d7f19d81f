/* SPDX-License-Identifier: MIT */
/*
 * retry.h - whether and when to send a failed request again
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct retry_facts {
	uint64_t attempt;        /* how many were sent, this one included */
	uint64_t retries;        /* how many may follow the first */
	uint64_t left_ms;        /* of the task's wall budget */
	long status;             /* of the answer; 0 where the connection failed */
	bool quota;              /* the server says that the quota is used up */
	uint64_t retry_after_ms; /* the server's wish, 0 for none */
	uint64_t random;         /* for the jitter */
	uint64_t first_wait_ms;  /* at least 1 */
};

enum retry_answer {
	RETRY_YES,
	RETRY_NEVER,    /* this kind of failure does not pass by waiting */
	RETRY_WORN_OUT, /* tried often enough */
	RETRY_NO_TIME,  /* the wait would outlast the wall budget */
};

/**
 * retry_decide() - Decide about one failure
 * @wait_ms:	Gets the wait for RETRY_YES and RETRY_NO_TIME
 *
 * Repeated are connection failures, 408, 429 and 5xx; never a used-up quota, nor any
 * other 4xx. The wait doubles from the first to at most 40 times that, of which a random
 * half to all is waited, so that clients which failed together do not come back together.
 * A Retry-After is waited out in full, with up to a tenth more.
 */
enum retry_answer retry_decide(const struct retry_facts *f, uint64_t *wait_ms);
