/* SPDX-License-Identifier: MIT */
/*
 * prompt.h - what the model is told: the house rules, the task, and what each step did
 *
 * Whose words are whose
 *   Every line that comes from a file or out of a jail begins with ESCAPE_MARK; no line
 *   of the agent's own does. Line breaks other than "\n" are escaped (escape.h), so a jail
 *   cannot begin a line of its own without the mark, whatever it prints: it cannot write
 *   an observation, end one, or speak as the agent. A mark on every line does what a
 *   random fence would, needs no secret, stays the same from run to run (so scripts and
 *   replays work), and holds for a cut stream too, whose closing fence would be lost.
 *   Below the lines, marks that some servers part turns with are broken (escape_turns()).
 */
#pragma once

#include "agent/session/session.h"

#define PROMPT_HEAD_LINES 5
#define PROMPT_LINE_BYTES 200

struct loop;

/** prompt_system() - Add the house rules, as plan, budget, --tests and --out make them */
void prompt_system(const struct loop *l, struct text *out);

/** prompt_task() - Add the task and what is known of its files */
void prompt_task(const char *task, const struct input_file *files, size_t count,
		 struct text *out);

/**
 * prompt_observation() - Add what a step did
 * @number:	Of this step, from 1
 * @total:	The step budget
 * @imitated:	The reply went on to make up its own observation
 */
void prompt_observation(const struct step *step, uint64_t number, uint64_t total,
			bool imitated, struct text *out);

/** prompt_shown() - Add what a step shows, in words; a part of prompt_observation() */
void prompt_shown(const struct media_list *l, struct text *out);
