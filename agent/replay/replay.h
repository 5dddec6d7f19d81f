/* SPDX-License-Identifier: MIT */
/*
 * replay.h - a transcript's steps run once more, and what differs
 *
 * The same code in the same order: in one session where it was one, a new one where one
 * was lost or reset, branches and rollbacks as they were, a jail for each step with
 * --stateless. Compared are verdict, state, exit status, signal, violation, and all bytes
 * of each stream; times, sizes of memory, process ids and ids of the jail are not. A step
 * that ends in another state than it did is told, and where the recorded one is there,
 * too, the next step starts from that.
 */
#pragma once

#include "agent/loop/out.h"
#include "agent/replay/peek.h"
#include "agent/session/confined.h"

struct replay {
	struct confined confined;         /* CONFINED_NOT */
	const struct jail_options *asked; /* stepjail, files, pass: the caller's */
	const char *skills;               /* the caller's folder of modules, or NULL */
	struct stop *stop;
	struct show show;

	/* what the transcript says of its jails; replay_start() makes it what they get */
	struct peek start;

	/* while it runs */
	struct session_plan plan;
	struct session own, *session; /* the one that steps run in: @own, or another's */
	struct step step;             /* large */
	struct jail_binds binds;
	struct out out; /* OUT_NONE, but for the folder that a jail had */
	struct text code;
	bool used[OPT_LIST_MAX]; /* the caller's files that the transcript has */
	bool pending;            /* @code is to be run */
	bool fresh;              /* the session has just begun */
	cJSON *recorded;         /* the last session's line, until it is compared */

	/* at the end */
	uint64_t steps;   /* that were run again */
	uint64_t skipped; /* that were cut off, and are not compared */
	uint64_t differ;  /* of these; other differences count as one each */
};

/** replay_start() - Make the jail that @r->start says, and confine this process: the
 * whole file is read only after this */
int replay_start(struct replay *r, struct err *e);

/** replay_take() - Do what a line of a transcript says; @arg is a struct replay. For
 * read_transcript_run(), after replay_start(), which has done what the first says */
int replay_take(void *arg, const char *event, const cJSON *line, struct err *e);

/** replay_words() - Add how many steps were run again, and what differs */
void replay_words(const struct replay *r, struct text *out);

/** replay_unused() - 0, or -EINVAL where the transcript has no file of a --file's name */
int replay_unused(const struct replay *r, struct err *e);

/** replay_free() - End the jail, free what there is; safe on a zeroed struct */
void replay_free(struct replay *r);

/** replay_differs() - Say a difference, and count it (replay only) */
#define replay_differs(r, ...) ((r)->differ++, show_line(&(r)->show, __VA_ARGS__))

/** replay_renew() - Begin a new session where the last one has ended (replay only) */
int replay_renew(struct replay *r, struct err *e);

/**
 * replay_file() - The path of a recorded file (replay only)
 * @recorded:	Absolute; or a name, of what came by a pipe
 * @was:	Its digest; may go on behind that
 *
 * What is at the recorded path is taken only if it has the recorded digest: a transcript
 * is not to choose files of the host to look into. One of the caller's --file is taken as
 * it is.
 *
 * Return: the path, or NULL with @e filled
 */
const char *replay_file(struct replay *r, const char *recorded, const char *was,
			struct err *e);

/** replay_command() - Do what was done at the prompt (replay only) */
int replay_command(struct replay *r, const cJSON *line, struct err *e);

/**
 * replay_compare() - Say how a step differs from what is recorded of it
 * @line:	The transcript's
 * @now:	record_step() of the step that ran now
 * @says:	Gets a line for each difference, harmless to show
 */
void replay_compare(const cJSON *line, const cJSON *now, struct text *says);
