/* SPDX-License-Identifier: MIT */
/*
 * evalset.h - a set of tasks in HumanEval's form: one JSON object a line
 */
#ifndef STEPJAIL_AGENT_EVALSET_H
#define STEPJAIL_AGENT_EVALSET_H

#include <stddef.h>

#include "agent/base/text.h"

#define EVALSET_MAX_BYTES ((size_t)64 << 20)
#define EVALSET_MAX_TASKS 10000

struct eval_task {
	char *id;
	char *prompt;
	char *entry_point;
	char *canonical;
	char *test;
};

struct evalset {
	struct eval_task *tasks;
	size_t count, room;
};

enum eval_body {
	EVAL_CANONICAL, /* the solution that comes with the task */
	EVAL_BROKEN,    /* pass, and nothing else */
	EVAL_WHOLE,     /* @canonical is a model's: the function and all that it needs */
};

/**
 * evalset_read() - Read a set
 * @path:	A file, or "-" for stdin
 * @set:	Filled; free with evalset_free(), after a failure too
 *
 * Return: 0, or -errno with a line that names the file and the line in it
 */
int evalset_read(const char *path, struct evalset *set, struct err *e);

/** evalset_add() - Add the task that is one line of JSON; -EINVAL says what is missing */
int evalset_add(struct evalset *set, const char *line, size_t length, struct err *e);

/**
 * evalset_input() - What harness.py reads: the task's size, the task, the secret
 *
 * Return: 0 or -ENOMEM
 */
int evalset_input(const struct eval_task *t, enum eval_body body, const char *secret,
		  struct text *out, struct err *e);

/** evalset_free() - Free all tasks */
void evalset_free(struct evalset *set);

#endif
