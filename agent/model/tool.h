/* SPDX-License-Identifier: MIT */
/*
 * tool.h - the tools that a model is offered with --code-in tools, and calls of them: one
 * runs code, the other ends the task with a text, which may be code
 */
#pragma once

#include "agent/base/json.h"
#include "agent/model/extract.h"
#include "agent/model/reply.h"

/** tool_offer() - Add what a model is told of them to a list, in order; @place: gives the
 * object of a new item that they are described in, or NULL for the item itself; @schema:
 * the member's name for what their arguments are */
void tool_offer(cJSON *list, cJSON *(*place)(cJSON *item), const char *schema);

/** tool_is_answer() - Whether a call ends the task */
bool tool_is_answer(const struct call *c);

/**
 * tool_read() - The code in a reply's calls
 * @tools:	The tool was offered
 * @x:		Overwritten, as by extract_code(). Several calls are one step, in their
 *		order, as several blocks of a text are. EXTRACT_ANSWER without a call; or
 *		of a call that ends the task, whose text is in x->code then
 * @complaint:	Gets what to tell the model where the calls cannot be run
 *
 * Code is never mended: what a model did not write is not run.
 */
void tool_read(const struct reply *reply, bool tools, struct extract *x,
	       struct text *complaint);

/**
 * tool_arguments() - A call's arguments as they may be sent back to any server
 * @out:	Gets a JSON object in any case: what is none is put into one, cut
 */
void tool_arguments(const struct call *c, struct text *out);
