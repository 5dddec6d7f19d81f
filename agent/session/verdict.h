/* SPDX-License-Identifier: MIT */
/*
 * verdict.h - how a step or a jail ended, by name and in words for the model
 *
 * The names are those of stepjail's report. The words are written so that a model knows
 * what to do next: what happened, to which limit, and what it has lost.
 */
#pragma once

#include <stdbool.h>

#include "agent/base/text.h"

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
	VERDICT_FILE_LOCKS,
	VERDICT_VIOLATION,
	VERDICT_CANCELLED,
	VERDICT_LAUNCHER_ERROR,
	VERDICT_COUNT,
};

enum state {
	STATE_KEPT,        /* every variable is there */
	STATE_ROLLED_BACK, /* every variable is as before the step, files are not */
	STATE_LOST,        /* a new jail: files in /work lost, too */
	STATE_UNKEPT,      /* as was asked for: a new jail for each step */
	STATE_COUNT,
};

/* of a step that was rolled back: what a fork shares, and what is therefore as it left
 * it */
enum shared {
	SHARED_MEMORY,
	SHARED_OFFSETS,
	SHARED_COUNT,
};

#define SYSCALL_BYTES 32

struct verdict_facts {
	enum verdict verdict;
	enum state state;
	bool shared[SHARED_COUNT];
	bool soft;         /* a limit's end: an interrupt or an exception was enough */
	bool headed;       /* @head is known */
	uint32_t head;     /* the state that the branch stands at now */
	uint64_t limit_ms; /* wall-timeout */
	int code;          /* exited; -1: it had none */
	int signal;        /* signaled; 0: none */
	char syscall[SYSCALL_BYTES]; /* violation; printable, may be empty */
	char reason[160];            /* launcher-error, lost; likewise */
	char limit[80];              /* that explains it: "--memory 512M"; may be empty */
};

/** verdict_name() - As in reports: "wall-timeout" */
const char *verdict_name(enum verdict v);

/** verdict_find() - By name; false where there is no such verdict */
bool verdict_find(const char *name, enum verdict *v);

/** state_name() - As in --json: "kept", "rolled-back", "lost", "not-kept" */
const char *state_name(enum state s);

/** state_find() - By the name that stepjail has for it; false where there is none */
bool state_find(const char *name, enum state *s);

/** verdict_cause() - Add what happened, without what became of the variables */
void verdict_cause(const struct verdict_facts *f, struct text *out);

/** verdict_words() - Add one sentence or two without a newline */
void verdict_words(const struct verdict_facts *f, struct text *out);
