/* SPDX-License-Identifier: MIT */
/*
 * modes.h - ways of working: what the model is to send, and what a reply of its counts
 * for
 *
 * A way is a row of a table: words of the prompt, and whether each step is a program of
 * its own. codeact is the loop as it is.
 */
#pragma once

#include "agent/cli/options.h"
#include "agent/judge/tests.h"

#define MODE_OUTPUT_MAX ((size_t)1 << 20) /* of a program that is the answer */
#define MODE_OUTPUT_LIMIT "1M"            /* the same, for stepjail */

enum mode_kind { MODE_CODEACT, MODE_PROGRAM, MODE_TESTS, MODE_COUNT };

struct loop;

struct mode {
	const char *name;  /* as --mode has it */
	const char *begin; /* of the prompt: what is to be done; may be "" */
	const char
		*ends[2]; /* what a reply without code is: code in text, code in calls */
	bool programs; /* nothing is kept between steps; the answer is what one prints */
};

/* part of a command's struct */
struct mode_options {
	uint64_t mode;
	struct opt_list tests;
};

/* what a run keeps of its way */
struct mode_state {
	const struct mode *mode;
	/* program */
	struct text printed; /* by the step that runs; at most MODE_OUTPUT_MAX */
	struct text output;  /* of the last program with status 0; empty: no answer */
	/* tests */
	struct tests tests;
};

/* by kind */
extern const struct mode mode_rows[MODE_COUNT];

/**
 * mode_plan() - Take the options
 * @w:		Zeroed; mode_free() in any case
 * @p:		With its binds, and @stateless as asked, or as the mode wants it
 *
 * Return: 0, or -EINVAL with a line about options that do not go together
 */
int mode_plan(struct mode_state *w, const struct mode_options *o, struct session_plan *p,
	      struct err *e);

/** mode_heard() - For session_plan.heard, with a struct mode_state */
void mode_heard(void *arg, uint16_t type, const void *bytes, size_t length);

/** mode_free() - Free what there is, and end the judge's jail */
void mode_free(struct mode_state *w);

/** program_ran() - Of a mode with @programs: a step has run; add to what the model is
 * told of it */
void program_ran(struct loop *l, struct text *observation);

/** program_claim() - What a reply without code claims to be the answer there: 1, or 0
 * with a complaint */
int program_claim(struct loop *l, struct text *answer);

extern const struct opt mode_opts[]; /* of a struct mode_options */
