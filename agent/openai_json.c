/* SPDX-License-Identifier: MIT */
/*
 * openai_json.c - chat completions: see openai_json.h
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/escape.h"
#include "agent/openai_json.h"
#include "agent/utf8.h"

#define WORDS_MAX 300
#define TOKENS_MAX 1e12 /* more than that is not a count but a mistake */

/* error.code or error.type of refusals that no waiting mends */
static const char *const quota_names[] = {
	"insufficient_quota",
	"billing_hard_limit_reached",
	"billing_not_active",
	"quota_exceeded",
};

static const struct {
	const char *name;
	enum finish finish;
} finishes[] = {
	{ "stop", FINISH_STOP },
	{ "length", FINISH_LENGTH },
};

int openai_json_request(const char *model_name, const struct chat *chat, struct text *out,
			struct err *e)
{
	cJSON *root = cJSON_CreateObject();
	cJSON *messages = cJSON_AddArrayToObject(root, "messages");
	bool good = root && messages &&
		    cJSON_AddStringToObject(root, "model", model_name) &&
		    cJSON_AddFalseToObject(root, "stream");

	for (size_t i = 0; good && i < chat->count; i++) {
		cJSON *one = cJSON_CreateObject();

		good = one &&
		       cJSON_AddStringToObject(one, "role",
					       chat_role_name(chat->list[i].role)) &&
		       cJSON_AddStringToObject(one, "content", chat->list[i].text);
		/* an item that could not be added is nobody's: free it here */
		if (!cJSON_AddItemToArray(messages, one)) {
			cJSON_Delete(one);
			good = false;
		}
	}

	char *body = good ? cJSON_PrintUnformatted(root) : NULL;

	cJSON_Delete(root);
	if (!body)
		return err_set(e, ENOMEM, "the request to the model");
	text_puts(out, body);
	cJSON_free(body);
	return text_check(out, "the request to the model", e);
}

/* \u0000 would end a C string early and hide the rest: make it \ufffd, same length */
static void mend_nuls(char *body, size_t length)
{
	char *end = body + length;

	for (char *at = body; (at = memchr(at, '\\', (size_t)(end - at)));) {
		if (end - at >= 6 && memcmp(at, "\\u0000", 6) == 0)
			memcpy(at, "\\ufffd", 6);
		at += end - at >= 2 ? 2 : 1; /* over the escaped character too */
	}
}

/* the whole body as one JSON value and nothing behind it, or NULL */
static cJSON *parse_all(const char *body, size_t length)
{
	const char *end = NULL;
	cJSON *root;

	if (memchr(body, '\0', length))
		return NULL;
	root = cJSON_ParseWithLengthOpts(body, length, &end, false);
	if (!root)
		return NULL;
	for (; end < body + length; end++)
		if (!strchr(" \t\r\n", *end)) {
			cJSON_Delete(root);
			return NULL;
		}
	return root;
}

static uint64_t tokens(const cJSON *usage, const char *name)
{
	const cJSON *n = cJSON_GetObjectItemCaseSensitive(usage, name);

	if (!cJSON_IsNumber(n) || !(n->valuedouble >= 0 && n->valuedouble < TOKENS_MAX))
		return 0;
	return (uint64_t)n->valuedouble;
}

static int take_message(const cJSON *message, struct reply *reply, struct err *e)
{
	const cJSON *content = cJSON_GetObjectItemCaseSensitive(message, "content");
	const cJSON *refusal = cJSON_GetObjectItemCaseSensitive(message, "refusal");

	if (cJSON_IsString(content)) {
		utf8_mend(&reply->text, content->valuestring,
			  strlen(content->valuestring));
		return 0;
	}
	if (cJSON_IsString(refusal)) {
		cleanup_text struct text shown = { 0 };

		escape_line(&shown, refusal->valuestring,
			    utf8_floor(refusal->valuestring, strlen(refusal->valuestring),
				       WORDS_MAX));
		return err_say(e, EBADMSG, "the model refused: %s", text_string(&shown));
	}
	if (cJSON_IsNull(content))
		return err_say(e, EBADMSG, "the model's answer has no content (null)");
	return err_say(e, EBADMSG,
		       "the model's answer has no text in "
		       "choices[0].message.content");
}

int openai_json_reply(char *body, size_t length, struct reply *reply, struct usage *usage,
		      struct err *e)
{
	mend_nuls(body, length);

	cJSON *root = parse_all(body, length);
	const cJSON *choices = cJSON_GetObjectItemCaseSensitive(root, "choices");
	const cJSON *first =
		cJSON_IsArray(choices) ? cJSON_GetArrayItem(choices, 0) : NULL;
	const cJSON *message = cJSON_GetObjectItemCaseSensitive(first, "message");
	const cJSON *finish = cJSON_GetObjectItemCaseSensitive(first, "finish_reason");
	const cJSON *counts = cJSON_GetObjectItemCaseSensitive(root, "usage");
	int r;

	if (!root)
		r = err_say(e, EBADMSG, "the model's answer is not JSON");
	else if (!cJSON_IsArray(choices))
		r = err_say(e, EBADMSG, "the model's answer has no list of choices");
	else if (!first)
		r = err_say(e, EBADMSG,
			    "the model's answer has an empty list of choices");
	else if (!cJSON_IsObject(message))
		r = err_say(e, EBADMSG, "the model's answer has no choices[0].message");
	else
		r = take_message(message, reply, e);

	for (size_t i = 0; r == 0 && i < sizeof(finishes) / sizeof(finishes[0]); i++)
		if (cJSON_IsString(finish) &&
		    strcmp(finish->valuestring, finishes[i].name) == 0)
			reply->finish = finishes[i].finish;
	usage->prompt_tokens += tokens(counts, "prompt_tokens");
	usage->completion_tokens += tokens(counts, "completion_tokens");
	cJSON_Delete(root);
	return r;
}

static bool names_quota(const cJSON *item)
{
	for (size_t i = 0; i < sizeof(quota_names) / sizeof(quota_names[0]); i++)
		if (cJSON_IsString(item) &&
		    strcmp(item->valuestring, quota_names[i]) == 0)
			return true;
	return false;
}

bool openai_json_error(const char *body, size_t length, struct text *words)
{
	cJSON *root = parse_all(body, length);
	const cJSON *error = cJSON_GetObjectItemCaseSensitive(root, "error");
	const cJSON *message = cJSON_GetObjectItemCaseSensitive(error, "message");
	bool quota = names_quota(cJSON_GetObjectItemCaseSensitive(error, "code")) ||
		     names_quota(cJSON_GetObjectItemCaseSensitive(error, "type"));

	if (cJSON_IsString(error))
		message = error; /* some servers say no more than that */
	if (cJSON_IsString(message))
		escape_line(words, message->valuestring,
			    utf8_floor(message->valuestring, strlen(message->valuestring),
				       WORDS_MAX));
	cJSON_Delete(root);
	return quota;
}
