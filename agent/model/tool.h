/* SPDX-License-Identifier: MIT */
/*
 * tool.h - the one tool that a model is offered with --code-in tools, and calls of it
 */
#pragma once

#include "agent/base/json.h"
#include "agent/model/extract.h"
#include "agent/model/reply.h"

#define TOOL_NAME "python"
#define TOOL_WORDS                                                                       \
	"Run Python code in the sandbox, as one step, and be told what it printed and "  \
	"how it ended."
#define TOOL_SCHEMA                                                                      \
	"{\"type\":\"object\",\"properties\":{\"code\":{\"type\":\"string\","            \
	"\"description\":\"The code to run.\"}},\"required\":[\"code\"],"                \
	"\"additionalProperties\":false}"

/** tool_offer() - Add what a model is told of it to an object; @schema: the member's name
 * for what its arguments are */
void tool_offer(cJSON *tool, const char *schema);

/**
 * tool_read() - The code in a reply's calls
 * @tools:	The tool was offered
 * @x:		Overwritten, as by extract_code(). Several calls are one step, in their
 *		order, as several blocks of a text are. EXTRACT_ANSWER without a call
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
