/* SPDX-License-Identifier: MIT */
/*
 * test_agent_samples.c - answers of servers: see test_agent_samples.h
 */
#include "tests/unit/test_agent_samples.h"

#define WORDS "Let us see.\\n\\u00e9\\ud83d\\ude00 "
#define SEEN "Let us see.\n\xc3\xa9\xf0\x9f\x98\x80 "
#define ARGUMENTS "{\"code\": \"print(6 * 7)\"}"

const struct sample samples[] = {
	{ "text", &openai_dialect,
	  CHUNK("\"role\":\"assistant\",\"content\":\"\"")
		  CHUNK("\"content\":\"" WORDS "\"") CHUNK("\"content\":\"42\"")
			  FINISH("stop") USAGE DONE,
	  SEEN "42", NULL, 0, FINISH_STOP },
	{ "a call in pieces", &openai_dialect,
	  CALL("\"index\":0,\"id\":\"call_1\",\"type\":\"function\",\"function\":{"
	       "\"name\":\"python\",\"arguments\":\"\"}")
		  CALL("\"index\":0,\"function\":{\"arguments\":\"{\\\"code\\\": "
		       "\\\"pri\"}") CALL("\"index\":0,\"function\":{\"arguments\":\"nt("
					  "6 * 7)\\\"}\"}") FINISH("tool_calls")
			  USAGE DONE,
	  "", ARGUMENTS, 1, FINISH_STOP },
	{ "text and two calls", &openai_dialect,
	  CHUNK("\"content\":\"" WORDS
		"\"") CALL("\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"python\","
			   "\"arguments\":\"{\\\"code\\\": \\\"print(6 * 7)\\\"}\"}")
		  CALL("\"index\":1,\"id\":\"b\",\"function\":{\"name\":\"python\","
		       "\"arguments\":\"{\\\"code\\\": \\\"print(8)\\\"}\"}")
			  FINISH("tool_calls") USAGE DONE,
	  SEEN, ARGUMENTS, 2, FINISH_STOP },
	{ "calls that are all number 0", &openai_dialect,
	  CALL("\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"python\","
	       "\"arguments\":\"{\\\"code\\\": \\\"print(6 * 7)\\\"}\"}")
		  CALL("\"index\":0,\"id\":\"b\",\"function\":{\"name\":\"python\","
		       "\"arguments\":\"{}\"}") FINISH("tool_calls") USAGE,
	  "", ARGUMENTS, 2, FINISH_STOP },
	{ "calls without numbers, one an object", &openai_dialect,
	  CALL("\"function\":{\"name\":\"python\",\"arguments\":\"{\\\"code\\\": \"}")
		  CALL("\"function\":{\"arguments\":\"\\\"print(6 * 7)\\\"}\"}")
			  CALL("\"function\":{\"name\":\"python\",\"arguments\":{"
			       "\"code\":\"8\"}}") FINISH("stop") USAGE,
	  "", ARGUMENTS, 2, FINISH_STOP },
	{ "cut off", &openai_dialect,
	  CHUNK("\"content\":\"Let\"") FINISH("length") USAGE DONE, "Let", NULL, 0,
	  FINISH_LENGTH },
	{ "comments, CRLF, a BOM, thoughts and no [DONE]", &openai_dialect,
	  "\xef\xbb\xbf: hello\r\n\r\ndata: {\"choices\":[{\"delta\":{\"reasoning_"
	  "content\":\"Hm\"}}]}\r\n\r\n: ping\r\n\r\ndata:{\"choices\":[{\"delta\":{"
	  "\"content\":\"Hi\"},\r\ndata: "
	  "\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_"
	  "tokens\":11,\"completion_tokens\":5}}\r\n\r\n",
	  "Hi", NULL, 0, FINISH_STOP },
	{ "messages", &anthropic_dialect,
	  START EVENT("ping", "") TEXT_BLOCK("0") TEXT_DELTA("0", WORDS)
		  TEXT_DELTA("0", "42") BLOCK_STOP("0") MESSAGE_DELTA("end_turn") STOP,
	  SEEN "42", NULL, 0, FINISH_STOP },
	{ "messages: text and two calls", &anthropic_dialect,
	  START TEXT_BLOCK("0") TEXT_DELTA("0", WORDS) BLOCK_STOP("0")
		  TOOL_BLOCK("1", "toolu_1") JSON_DELTA("1", "") JSON_DELTA(
			  "1", "{\\\"code\\\": \\\"print(") JSON_DELTA("1", "6 * 7)\\\"}")
			  BLOCK_STOP("1") TOOL_BLOCK("2", "toolu_2") BLOCK_STOP("2")
				  MESSAGE_DELTA("tool_use") STOP,
	  SEEN, ARGUMENTS, 2, FINISH_STOP },
	{ "messages: cut off", &anthropic_dialect,
	  START TEXT_BLOCK("0") TEXT_DELTA("0", "Let") MESSAGE_DELTA("max_tokens") STOP,
	  "Let", NULL, 0, FINISH_LENGTH },
};
const size_t sample_count = sizeof(samples) / sizeof(samples[0]);
