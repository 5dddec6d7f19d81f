/* SPDX-License-Identifier: MIT */
/*
 * tests.h - the user's tests judge the answer, in a jail that the model has never been in
 *
 * Theory of operation
 *   tests_open()	before the agent is confined: an fd and a digest of each file
 *   tests_start()	a stepjail of its own, with the same arguments as the model's;
 *			what the files hold is found there, before any code of the
 *			model's exists
 *   tests_ask()	the model's files are taken out of its session
 *			as bytes and put into fresh jails
 *
 * The files are of one of two kinds.
 *
 * Python files, for unittest or pytest (tests.py), are read-only in TESTS_FOLDER of all
 * jails, the model's too. Tests and solution share a process, so a solution that is
 * written to change the test runner, and not to solve the task, passes them.
 *
 * Plain cases (cases.py), calls and what is to come of each, are in no jail that runs a
 * line of the model's: one jail has the solution and the calls, and replies in JSON; a
 * further one has the replies and the cases, and compares. The model is told of the first
 * call that failed and of its reply, never of what was expected: a solution can only be
 * right, or guess, one answer at a time.
 */
#pragma once

#include "agent/judge/task.h"

#define TESTS_FOLDER "/work/tests"
#define TESTS_MAX 16
#define TESTS_TAKEN_FILES 256 /* of the model's */
#define TESTS_TAKEN_BYTES ((size_t)8 << 20)
#define TESTS_TAKEN_DEPTH 8 /* folders in folders */

struct tests_file {
	const char *path; /* as given */
	const char *name; /* its last part */
	int fd;
	char hex[DIGEST_HEX];
};

struct tests {
	struct tests_file files[TESTS_MAX];
	size_t count;
	struct task *task;
	struct text *words; /* for the model, while an answer is judged */
	struct judge judge;
	bool cases; /* plain cases, and no Python */

	uint64_t number;   /* of tests or calls that must pass */
	struct text names; /* what the tests import and nobody has: "a.py, b.py"; or what
			    * is called: "a.f, b.g" */
	struct text calls; /* of cases: what their jail gets */
	cJSON *ran;        /* that jail's run, of which a next step takes parts away */
	struct step compared;
	bool has_compared; /* since the model's files were taken */
	cJSON *taken;      /* of the model's files, that are in the judge's jail: list of
			    * name, sha256, bytes */
	size_t taken_bytes;
};

/** tests_open() - Look at the files, keep them open; they are bound into the jails by
 * @b */
int tests_open(struct tests *t, const struct opt_list *paths, struct jail_binds *b,
	       struct err *e);

/** tests_record() - Add the files to what the jails are made with (inputs.h); 0 or
 * -errno */
int tests_record(const struct tests *t, cJSON *given, struct stop *stop, struct err *e);

/**
 * tests_start() - Begin the judge's stepjail, by the plan of the model's, and find out
 * what there is to pass
 * @task:	Its session's files are judged; its plan keeps a session from step to step
 *
 * Return: 0, or -errno with a line about what the tests lack
 */
int tests_start(struct tests *t, struct task *task, struct err *e);

/**
 * tests_ask() - Judge the model's files: does its answer stand?
 * @words:	For the model; each line of a jail's among them is behind ESCAPE_MARK
 *
 * Return: 1; 0, with @words; -EINTR; -errno (our own failure, which ends the task)
 */
int tests_ask(struct tests *t, struct text *words, struct err *e);

/** tests_words() - Tell the model what judges it, and where its files are to be */
void tests_words(const struct tests *t, struct text *out);

/** tests_close() - End the jail, close the files; safe on a zeroed struct */
void tests_close(struct tests *t);

/**
 * tests_take() - Put the model's files into the judge's jail, as bytes (tests only)
 *
 * Return: 1, 0 with words for the model where they cannot be had, or -errno
 */
int tests_take(struct tests *t, struct err *e);

/** tests_tell() - Add a file to a list of the record; its object (tests only) */
cJSON *tests_tell(cJSON *list, const char *name, const char *hex);

/** tests_failed() - Tell the model what of its own is in the way of judging it; 0, or @r
 * where that is -EINTR or -ENOMEM and none of its doing (tests only) */
int tests_failed(struct tests *t, int r, const char *what, const char *why);

/**
 * tests_run() - Have a function of tests.py or cases.py be a step (tests only)
 * @files:	Whether it is told of the files
 * @verdict:	Gets what it says, or NULL where the step did not end well
 *
 * Return: 0 or -errno
 */
int tests_run(struct tests *t, const char *function, bool files, struct step *step,
	      cJSON **verdict, struct err *e);

/** tests_cases_look() - Take a first look at plain cases, and the calls out of them
 * (tests only); as tests_run() */
int tests_cases_look(struct tests *t, cJSON **verdict, struct err *e);

/**
 * tests_cases_judge() - Call the solution, whose files are in the jail, then compare
 * (tests only)
 *
 * Return: as tests_run(); @verdict is NULL also with words for the model where the
 * replies cannot be had
 */
int tests_cases_judge(struct tests *t, cJSON **verdict, struct err *e);
