/* SPDX-License-Identifier: MIT */
/*
 * evalbook.h - the samples of an evaluation, and the file that they are kept in
 *
 * A sample is one solution of one task. Its reply and its result are lines of the file as
 * soon as they are there, so a run that was stopped goes on where it was: what is in the
 * file is neither asked for nor run again. The first line says of which set and whose
 * solutions it is; another set's, or another model's, is refused.
 */
#ifndef STEPJAIL_AGENT_EVALBOOK_H
#define STEPJAIL_AGENT_EVALBOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/eval/evalrun.h"

#define EVALBOOK_SAMPLES_MAX 1000

struct eval_sample {
	size_t task;
	uint32_t number; /* of the task's samples, from 0 */
	bool asked;      /* there is a reply, or none is needed */
	char *code;      /* from the reply; NULL where it held none */
	bool ran;
	struct eval_result result;
};

struct evalbook {
	const struct evalset *set;
	struct eval_sample *samples; /* task by task */
	size_t count;
	uint32_t each; /* samples of a task */
	int fd;        /* -1 for no file */
};

/**
 * evalbook_open() - Make the samples, and take over what the file has of them
 * @path:	Made if it is not there; NULL for no file
 * @who:	Whose solutions these are: a model's label, "canonical", "broken"
 * @asks:	Replies are needed
 *
 * The caller frees with evalbook_free(), after a failure too. The file is locked: two
 * runs do not write into one.
 *
 * Return: 0, or -errno with a line that says what is wrong with the file
 */
int evalbook_open(struct evalbook *b, const char *path, const struct evalset *set,
		  const char *who, uint32_t each, bool asks, struct err *e);

/**
 * evalbook_reply() - Keep a reply
 * @code:	NULL where it held none
 * @why:	What was wrong with it then
 */
int evalbook_reply(struct evalbook *b, size_t sample, const char *code, const char *why,
		   struct err *e);

/** evalbook_result() - Keep a result */
int evalbook_result(struct evalbook *b, size_t sample, const struct eval_result *result,
		    struct err *e);

/** evalbook_free() - Close the file, free all */
void evalbook_free(struct evalbook *b);

/** evalbook_passed() - How many samples of a task passed */
uint32_t evalbook_passed(const struct evalbook *b, size_t task);

/**
 * evalbook_pass_at() - The chance that one of k samples passes, over all tasks
 * @k:		1 to the number of samples
 *
 * The unbiased estimator: of n samples of which c passed it is 1 - C(n-c, k) / C(n, k),
 * the mean over the tasks (Chen et al., "Evaluating Large Language Models Trained on
 * Code", 2021).
 */
double evalbook_pass_at(const struct evalbook *b, uint32_t k);

#endif
