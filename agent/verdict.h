/* SPDX-License-Identifier: MIT */
/*
 * verdict.h - how a step or a jail ended, by name and in words for the model
 *
 * The names are those of stepjail's report. The words are written so that a model knows
 * what to do next: what happened, to which limit, and what it has lost.
 */
#ifndef STEPJAIL_AGENT_VERDICT_H
#define STEPJAIL_AGENT_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/text.h"

enum verdict {
	VERDICT_COMPLETED,
	VERDICT_EXCEPTION,
	VERDICT_EXITED,
	VERDICT_SIGNALED,
	VERDICT_WALL_TIMEOUT,
	VERDICT_CPU_TIMEOUT,
	VERDICT_MEMORY,
	VERDICT_PIDS,
	VERDICT_DISK,
	VERDICT_VIOLATION,
	VERDICT_CANCELLED,
	VERDICT_LAUNCHER_ERROR,
	VERDICT_COUNT,
};

enum state {
	STATE_KEPT,      /* every variable is there */
	STATE_VARIABLES, /* variables lost, files in /work kept */
	STATE_ALL,       /* a new jail: files in /work lost too */
	STATE_COUNT,
};

struct verdict_facts {
	enum verdict verdict;
	enum state state;
	bool soft;         /* wall-timeout: an interrupt was enough */
	uint64_t limit_ms; /* wall-timeout */
	int code;          /* exited */
	int signal;        /* signaled */
	char syscall[32];  /* violation; printable, may be empty */
};

/** verdict_name() - As in reports: "wall-timeout" */
const char *verdict_name(enum verdict v);

/** verdict_find() - By name; false where there is no such verdict */
bool verdict_find(const char *name, enum verdict *v);

/** verdict_bad() - True for every end but the plain one */
bool verdict_bad(enum verdict v);

/** state_name() - As in --json: "kept", "variables-lost", "all-lost" */
const char *state_name(enum state s);

/** verdict_words() - Add one sentence or two without a newline */
void verdict_words(const struct verdict_facts *f, struct text *out);

#endif
