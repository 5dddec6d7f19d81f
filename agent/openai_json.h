/* SPDX-License-Identifier: MIT */
/*
 * openai_json.h - chat completions: requests written, answers read
 *
 * Apart from the network, so that hostile answers can be tested byte by byte.
 */
#ifndef STEPJAIL_AGENT_OPENAI_JSON_H
#define STEPJAIL_AGENT_OPENAI_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/model.h"

/**
 * openai_json_request() - The body of a request
 *
 * Return: 0 or -ENOMEM
 */
int openai_json_request(const char *model_name, const struct chat *chat, struct text *out,
			struct err *e);

/**
 * openai_json_reply() - Read an answer with status 200
 * @body:	Changed in place: an escaped NUL, which no C string could hold, becomes
 * U+FFFD
 * @reply:	Text is appended, finish set
 * @usage:	Tokens are added where the server tells them
 *
 * Return: 0, or -EBADMSG with one line that says what is wrong with the answer
 */
int openai_json_reply(char *body, size_t length, struct reply *reply, struct usage *usage,
		      struct err *e);

/**
 * openai_json_error() - Read what a server says about its refusal
 * @words:	Gets the message, escaped and cut; stays empty where there is none
 *
 * Return: true where waiting will not help: a quota is used up or billing is off
 */
bool openai_json_error(const char *body, size_t length, struct text *words);

#endif
