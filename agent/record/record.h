/* SPDX-License-Identifier: MIT */
/*
 * record.h - a run as JSON: parts of the object of --json, and of a transcript's lines
 */
#pragma once

#include "agent/model/model.h"
#include "agent/session/session.h"

/* of --json and transcripts; of the one before, see renew() in read_transcript.c */
#define RECORD_FORMAT 2
#define RECORD_STREAMS 4

/* of a step: the member's name, what a person calls it, where it is in struct step */
extern const struct record_stream {
	const char *name, *words;
	size_t offset;
} record_streams[RECORD_STREAMS];

/**
 * record_begin() - Take down where records come from, before this process confines itself
 * @argv:	main()'s; stays valid. No key is ever in it: --key-file names a file
 */
void record_begin(char *const *argv);

/** record_origin() - Add that: format, stepjail_agent (its version), host, uid, argv,
 * started */
void record_origin(cJSON *o);

/**
 * record_result() - How a run ended, as an object for the caller to own: origin, outcome,
 * answer, error, status
 * @answer:	NULL where none stands
 * @error:	NULL or empty where there is none
 */
cJSON *record_result(const char *outcome, const struct text *answer, const char *error,
		     int status);

/**
 * record_step() - A step as an object
 * @code:	What was run; NULL where nothing was
 * @step:	NULL where nothing was run
 * @observation: What the model was told; NULL where there is none
 *
 * Return: an object for the caller to own
 */
cJSON *record_step(uint64_t number, const struct text *code, const struct step *step,
		   const struct text *observation);

/** record_reply() - A reply, its calls, the first 64 KiB of what the model thought, and
 * what it has used so far, as an object for the caller to own */
cJSON *record_reply(const struct reply *reply, const struct usage *usage);

/**
 * record_code() - A step that is run next, as an object
 * @cpu_ms:	Its processor time where it has a limit of its own, else 0
 *
 * Return: an object for the caller to own
 */
cJSON *record_code(uint64_t number, const struct text *code, uint64_t cpu_ms);

/** record_usage() - Requests, retries and tokens as an object */
cJSON *record_usage(const struct usage *usage);

/** record_model() - Who answers: provider, name and base_url, script; null: none */
cJSON *record_model(const struct model *m);

/** record_session() - The jail of the last OPENED as an object */
cJSON *record_session(const struct session *s);

/**
 * record_print() - Add an object as JSON on one line
 *
 * Characters that hide or move a cursor (escape.h) are \u escapes in it: a terminal may
 * be shown it as it is.
 *
 * Return: 0 or -E2BIG
 */
int record_print(const cJSON *object, struct text *out, struct err *e);
