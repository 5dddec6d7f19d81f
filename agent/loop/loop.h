/* SPDX-License-Identifier: MIT */
/*
 * loop.h - write, execute, observe, until there is an answer or a budget ends
 */
#pragma once

#include "agent/judge/checks.h"
#include "agent/judge/tests.h"
#include "agent/loop/out.h"
#include "agent/model/extract.h"
#include "agent/record/record.h"
#include "agent/record/shown.h"

enum outcome {
	OUTCOME_ANSWERED,
	OUTCOME_ENDED,   /* a person has left the chat */
	OUTCOME_STEPS,   /* the step budget ended */
	OUTCOME_WALL,    /* the wall budget ended */
	OUTCOME_BUDGET,  /* another one ended */
	OUTCOME_MODEL,   /* the model failed */
	OUTCOME_REFUSED, /* a check let a prompt not pass */
	OUTCOME_STOPPED, /* a signal came */
	OUTCOME_BROKEN,  /* our own failure: jail, stdout, transcript */
	OUTCOME_COUNT,
};

/* large */
struct loop {
	struct task *task; /* session and budget: open, begun */
	const char *asked; /* what the model is to do; NULL: a person says in turns */
	uint64_t context_tokens; /* what the model can hold; 0: not known */
	uint64_t reply_tokens;   /* longest reply to ask for; 0: the server's own */
	struct model model;
	struct shown shown;   /* where what steps show goes */
	struct out out;       /* of --out */
	struct tests tests;   /* of --tests; it has none without */
	struct checks checks; /* of prompts, replies, the answer */
	struct text preface;  /* for the model, of the functions in --skills */
	struct text rules;    /* of --system; empty for none */
	struct show asker;    /* the terminal of --confirm; its fd is -1 without */
	bool asks_apart;      /* progress is not shown there */
	cJSON *given; /* what the jails are made with: inputs_record(); taken over */
	/* of the run that this one continues: for the first line, taken over; has its
	 * conversation added, with @given still there; or NULL */
	cJSON *continues;
	int (*earlier)(void *arg, struct err *e);
	void *earlier_arg;
	const char *note; /* what the model is told of that; or NULL */

	/* while it runs */
	uint64_t before, done; /* steps: when the task began, which is 0, and now */
	bool refused;          /* an answer did not stand */
	struct chat chat;
	struct reply reply;
	struct extract found;
	struct text prose;     /* the words around its code */
	struct text complaint; /* what was wrong with the reply; empty: nothing */
	struct step step;

	/* at the end */
	struct text answer; /* empty where none stood */
	cJSON *steps;       /* list of record_step() objects */
};

/**
 * loop_run() - Run the whole task
 * @l:		The first part filled in, the rest zeroed
 * @e:		Filled for every outcome but an answer and a signal: why there is no
 *		answer
 *
 * A reply with code is a step. So is one that cannot be used (an empty block, shell
 * commands, code that was cut off, a call with wrong arguments): the model is told why.
 * The model gets one reply more than there are steps, to answer in.
 */
enum outcome loop_run(struct loop *l, struct err *e);

/** loop_begin() - What loop_run() does first: rules, task, the transcript's first line; 0
 * or -errno */
int loop_begin(struct loop *l, struct err *e);

/**
 * loop_see() - With --vision, let the model see what a step shows: with the observation
 * that is added next
 * @words:	Gets what to say of that
 */
void loop_see(struct loop *l, const struct media_list *shown, struct text *words);

/** loop_turns() - Then: until there is an answer, or none can be had any more */
enum outcome loop_turns(struct loop *l, struct err *e);

/** loop_end() - At last: files, and the last line; the outcome */
enum outcome loop_end(struct loop *l, enum outcome end, struct err *e);

/**
 * loop_unstarted() - Record a run that came to nothing before its first question
 * @r:		Why, as a -errno
 *
 * A confined agent can remove no file: its transcript says so instead.
 *
 * Return: @r
 */
int loop_unstarted(struct loop *l, int r, const struct err *why);

/** loop_free() - Free all of it but the task */
void loop_free(struct loop *l);

/* as in --json: "answered", "steps-ended"; the exit status, to which main() adds the
 * signal that stopped it */
extern const struct loop_outcome {
	const char *name;
	int status;
} loop_outcomes[OUTCOME_COUNT];

/* no outcome yet (loop only, like what follows) */
#define LOOP_GO_ON ((enum outcome)OUTCOME_COUNT)

/** loop_ask() - Have the model reply, into l->reply; LOOP_GO_ON or why there is none */
enum outcome loop_ask(struct loop *l, struct err *e);

/** confirm_open() - Open the terminal for --confirm; 0 or -errno */
int confirm_open(struct loop *l, uint64_t color, struct err *e);

/**
 * confirm_step() - Ask a person whether a step may run, and record what they say
 *
 * Return: LOOP_GO_ON, with a complaint where it may not; OUTCOME_REFUSED: end the task
 */
enum outcome confirm_step(struct loop *l, uint64_t number, struct err *e);

/** loop_hear() - Add what the user says to the conversation, and record it; or -errno */
int loop_hear(struct loop *l, const char *words, struct err *e);

/** loop_ended() - The outcome where this budget is used up and there is no answer */
enum outcome loop_ended(const struct loop *l, enum budget_kind kind, struct err *e);

/** loop_broken() - The outcome of a failure of our own, as a -errno */
enum outcome loop_broken(int r);

/** loop_unjudged() - The same of a check or a judge, that the task's time may have
 * ended */
enum outcome loop_unjudged(const struct loop *l, int r, struct err *e);
