/* SPDX-License-Identifier: MIT */
/*
 * report.h - the JSON of `stepjail serve`, as far as the agent reads it
 *
 * The JSON comes from stepjail and not from a jail, but what it quotes may have been
 * chosen there: every field is checked for its type and bounded, words are made
 * printable. Where a value is no object, it has none of the fields.
 */
#pragma once

#include "agent/session/session.h"

/**
 * report_step() - How a step ended: verdict, exit code, signal,
 * violation, state and usage
 * @step:	Facts, cpu_ms, memory_peak_bytes and strays are taken over; the limit
 *		of its facts stays; what was not sent of the streams goes to their clips
 *
 * Return: true where there are such a verdict and state; else nothing of @step is changed
 */
bool report_step(const cJSON *root, struct step *step);

/**
 * report_refused() - Add a line about calls that were refused, without a newline
 * @violations:	As stepjail tells, or a stranger's record
 * @killed:	The step was ended for it
 *
 * Return: false where there is none
 */
bool report_refused(const cJSON *violations, bool killed, struct text *out);

/** report_not_enforced() - Add a warning where this OPENED lists limits that the host
 * does not enforce */
void report_not_enforced(const cJSON *opened, struct text *out);

/**
 * report_words() - "error" or "reason" of a REFUSED or CLOSED, made printable
 * @words:	Gets a string, empty where there is none. Of the kind "file" it is the cause
 *		alone: before it stands the request's name, which the caller knows
 */
void report_words(const cJSON *root, char *words, size_t size);

/** report_says() - Of a REFUSED: has it this word as its "kind", or its "frame"? */
bool report_says(const cJSON *root, const char *name, const char *word);
