/* SPDX-License-Identifier: MIT */
/*
 * checks.h - programs of the user's that have a word in what goes to a model, what comes
 * from it, and what is taken for its answer
 *
 * Each is a command line, and runs as a step in a fresh jail of the judge's own, made as
 * the steps' one is: the same root tree, limits and files. Besides it has the user's
 * files below CHECKS_FOLDER, which no step has, so that a model cannot read its judge.
 * What is to be looked at comes on its stdin. Exit status 0 lets it pass; any other end
 * does not, that of a check which crashed, took too long or hit a wall neither: nothing
 * passes because it could not be looked at. One that cannot be started ends the task.
 */
#pragma once

#include "agent/judge/task.h"

#define CHECKS_FOLDER "/work/check"

enum checks_kind {
	CHECKS_PROMPT, /* before each request: what is sent for the first time */
	CHECKS_REPLY,  /* after each: its text, and code that came by a call */
	CHECKS_ANSWER, /* the answer, before it is taken for one */
	CHECKS_KINDS,
};

/* part of a command's struct */
struct checks_options {
	const char *command[CHECKS_KINDS];
	struct opt_list files;
	uint64_t time_ms;
};

/* large */
struct checks {
	const struct checks_options *o;
	struct task *task;
	struct jail_binds binds; /* their files, which are put into each jail */
	struct judge judge;
	size_t sent; /* messages of the conversation that have been looked at */
	uint64_t asked[CHECKS_KINDS], refused[CHECKS_KINDS];
};

/**
 * checks_plan() - Open the files, and have room for the time that was asked for
 * @v:		Zeroed, but for @task, whose broker is not open yet; checks_free() in any
 *		case
 *
 * Return: 0, or -errno with a line that names the option
 */
int checks_plan(struct checks *v, const struct checks_options *o, struct err *e);

/**
 * checks_start() - Start their stepjail, and run each once, with nothing to look at
 *
 * What they say to that is not heard: one that cannot be started is found out before the
 * model has used up its steps.
 *
 * Return: 0; -ENOTRECOVERABLE with a line that names the option; or as session_open()
 */
int checks_start(struct checks *v, struct err *e);

/**
 * checks_prompt() - Look at what of the conversation is sent for the first time
 *
 * Without such a check everything passes, as below.
 *
 * Return: 1; 0, with @e filled; -ETIMEDOUT (the task's time is over), -EINTR, -errno
 */
int checks_prompt(struct checks *v, const struct chat *chat, struct err *e);

/**
 * checks_ask() - Look at the answer, before it is taken for one
 * @kind:	CHECKS_ANSWER
 * @words:	Gets what the model is told
 *
 * Return: as checks_prompt(), but 0 with @words
 */
int checks_ask(struct checks *v, enum checks_kind kind, const struct text *input,
	       struct text *words, struct err *e);

/** checks_reply() - Look at a reply; @code: what would be run of it, or an empty text; as
 * checks_ask() */
int checks_reply(struct checks *v, const struct reply *reply, const struct text *code,
		 struct text *words, struct err *e);

/** checks_record() - The checks as an object for the transcript's beginning, their files
 * with digests; NULL with @e filled */
cJSON *checks_record(const struct checks *v, struct err *e);

/** checks_tell() - Add "checks", how often each was asked and refused, if there is any */
void checks_tell(const struct checks *v, cJSON *o);

/** checks_free() - Free what there is */
void checks_free(struct checks *v);

struct checks_row {
	const char *name;    /* in the transcript and --json */
	const char *option;  /* where it came from */
	const char *refused; /* what did not pass, as a beginning of a sentence */
	const char *then;    /* what the model is to do; NULL where it is not told */
};

/* what each is called, and what is said when it refuses (checks and tests only) */
extern const struct checks_row checks_rows[CHECKS_KINDS];

/** checks_ending() - Add how a check came to its end, as in "it ended with exit status 3"
 * (checks and tests only) */
void checks_ending(const struct verdict_facts *f, struct text *out);

extern const struct opt checks_opts[]; /* of a struct checks_options */
