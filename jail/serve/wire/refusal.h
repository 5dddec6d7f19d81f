/* SPDX-License-Identifier: MIT */
/*
 * refusal.h - why a frame of serve's client was refused, in a word for programs
 */
#pragma once

#include "init/err.h"

/* what init/serve_wire.h says of each */
enum refusal_kind {
	REFUSAL_FAILED,
	REFUSAL_BAD_FRAME,
	REFUSAL_OUT_OF_TURN,
	REFUSAL_NO_SESSION,
	REFUSAL_NOT_OPEN,
	REFUSAL_ENDING,
	REFUSAL_CLOSED,
	REFUSAL_STOPPED,
	REFUSAL_EXISTS,
	REFUSAL_NO_BRANCH,
	REFUSAL_NO_STATE,
	REFUSAL_NO_STEP,
	REFUSAL_BUSY,
	REFUSAL_LIMIT,
	REFUSAL_FILE,
	REFUSAL_KINDS,
};

struct refusal {
	enum refusal_kind kind;
	const char *limit; /* of REFUSAL_LIMIT: which one; NULL for all others */
	const char *frame; /* that this answers: its name; NULL for no known one */
	uint32_t step;     /* that it named, or that is in its way; 0 for none */
};

/**
 * refusal_say() - Write a refusal: its kind, and a line for people
 * @fmt:	printf format of the line
 *
 * Return: -EPERM
 */
int refusal_say(struct refusal *why, struct err *e, enum refusal_kind kind,
		const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* the word for each kind */
extern const char *const refusal_words[REFUSAL_KINDS];

/** refusal_of_step() - Of a step that a state could not be asked for, by errno */
struct refusal refusal_of_step(int errnum);
