/* SPDX-License-Identifier: MIT */
/*
 * test_agent_samples.h - answers of servers as they come over the wire, for the tests of
 * their readers
 */
#pragma once

#include <stddef.h>

#include "agent/model/response.h"

#define CHUNK(delta) "data: {\"choices\":[{\"index\":0,\"delta\":{" delta "}}]}\n\n"
#define CALL(piece) CHUNK("\"tool_calls\":[{" piece "}]")
#define FINISH(why)                                                                      \
	"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"" why         \
	"\"}]}\n\n"
#define USAGE                                                                            \
	"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":11,\"completion_tokens\":"   \
	"5}}\n\n"
#define DONE "data: [DONE]\n\n"

#define EVENT(type, rest) "event: " type "\ndata: {\"type\":\"" type "\"" rest "}\n\n"
#define START                                                                            \
	EVENT("message_start", ",\"message\":{\"usage\":{\"input_tokens\":11,"           \
			       "\"output_tokens\":1}}")
#define TEXT_BLOCK(n)                                                                    \
	EVENT("content_block_start",                                                     \
	      ",\"index\":" n ",\"content_block\":{\"type\":\"text\",\"text\":\"\"}")
#define TOOL_BLOCK(n, id)                                                                \
	EVENT("content_block_start",                                                     \
	      ",\"index\":" n ",\"content_block\":{\"type\":\"tool_use\",\"id\":\"" id   \
	      "\",\"name\":\"python\",\"input\":{}}")
#define TEXT_DELTA(n, text)                                                              \
	EVENT("content_block_delta",                                                     \
	      ",\"index\":" n ",\"delta\":{\"type\":\"text_delta\",\"text\":\"" text     \
	      "\"}")
#define JSON_DELTA(n, piece)                                                             \
	EVENT("content_block_delta",                                                     \
	      ",\"index\":" n ",\"delta\":{\"type\":\"input_json_delta\","               \
	      "\"partial_json\":\"" piece "\"}")
#define BLOCK_STOP(n) EVENT("content_block_stop", ",\"index\":" n)
#define MESSAGE_DELTA(why)                                                               \
	EVENT("message_delta", ",\"delta\":{\"stop_reason\":\"" why                      \
			       "\"},\"usage\":{\"output_tokens\":5}")
#define STOP EVENT("message_stop", "")

struct sample {
	const char *name;
	const struct dialect *dialect;
	const char *bytes;
	const char *text;      /* that the reply holds at its end */
	const char *arguments; /* of its first call, or NULL */
	size_t calls;
	enum finish finish;
};

/* whole answers, each with usage 11 and 5 */
extern const struct sample samples[];
extern const size_t sample_count;
