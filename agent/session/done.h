/* SPDX-License-Identifier: MIT */
/*
 * done.h - the JSON of `stepjail serve`, as far as the agent reads it
 *
 * It comes from stepjail and not from a jail, but what it quotes may have been chosen
 * there: every field is checked for its type and bounded, words are made printable.
 */
#ifndef STEPJAIL_AGENT_DONE_H
#define STEPJAIL_AGENT_DONE_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/session/session.h"

/**
 * done_read() - How a step ended: verdict, state, usage
 * @step:	Facts, cpu_ms, max_rss_bytes and strays are taken over, its facts' limit
 *		stays; what was not sent of the streams goes to their clips
 *
 * Return: true for an object with a verdict and a state that there are; else nothing of
 * @step is changed
 */
bool done_read(const char *json, size_t length, struct step *step);

/**
 * done_words() - "error" or "reason" of a REFUSED or CLOSED, made printable
 * @words:	Gets a string, empty where there is none. Of the kind "file" it is the cause
 *		alone: before it stands the request's name, which the caller knows
 */
void done_words(const char *json, size_t length, char *words, size_t size);

/** done_says() - Of a REFUSED: has it this word as its "kind", or its "frame"? */
bool done_says(const char *json, size_t length, const char *name, const char *word);

/** done_is_object() - Is it a JSON object? */
bool done_is_object(const char *json, size_t length);

#endif
