/* SPDX-License-Identifier: MIT */
/*
 * record.h - a run as JSON: one object for --json, one line for each event in a
 * transcript
 */
#ifndef STEPJAIL_AGENT_RECORD_H
#define STEPJAIL_AGENT_RECORD_H

#include <cjson/cJSON.h>
#include <stdint.h>

#include "agent/clip.h"
#include "agent/model.h"
#include "agent/session.h"

/** record_string() - Add a string, mended to UTF-8 */
void record_string(cJSON *object, const char *name, const char *bytes, size_t length);

/**
 * record_step() - A step as an object
 * @code:	What was run; NULL where nothing was
 * @step:	NULL where nothing was run
 * @observation: What the model was told
 *
 * Return: an object for the caller to own, NULL where memory ran out
 */
cJSON *record_step(uint64_t number, const struct text *code, const struct step *step,
		   const struct text *observation);

/** record_calls() - Add a reply's calls as a list, where it made any */
void record_calls(cJSON *object, const struct reply *reply);

/** record_usage() - Requests, retries and tokens as an object; NULL where memory ran out
 */
cJSON *record_usage(const struct usage *usage);

struct transcript {
	int fd; /* -1 for none */
};

/**
 * transcript_open() - Make a new file for a transcript
 * @path:	Must not exist yet: a record is never written over. NULL for none
 *
 * Return: 0, or -errno
 */
int transcript_open(struct transcript *t, const char *path, struct err *e);

/**
 * transcript_add() - Write one event as one line
 * @event:	An object; taken over and freed
 *
 * Return: 0, or -errno
 */
int transcript_add(struct transcript *t, cJSON *event, struct err *e);

#endif
