/* SPDX-License-Identifier: MIT */
/*
 * record.h - a run as JSON: parts of the object of --json, and of a transcript's lines
 */
#ifndef STEPJAIL_AGENT_RECORD_H
#define STEPJAIL_AGENT_RECORD_H

#include <cjson/cJSON.h>
#include <stdint.h>

#include "agent/base/clip.h"
#include "agent/model/model.h"
#include "agent/session/session.h"

#define RECORD_STREAMS 4

/* of a step: the member's name, what a person calls it, where it is in struct step */
extern const struct record_stream {
	const char *name, *words;
	size_t offset;
} record_streams[RECORD_STREAMS];

/** record_string() - Add a string, mended to UTF-8 */
void record_string(cJSON *object, const char *name, const char *bytes, size_t length);

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

#endif
