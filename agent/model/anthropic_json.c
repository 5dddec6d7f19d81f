/* SPDX-License-Identifier: MIT */
/*
 * anthropic_json.c - the dialect of the Messages interface, version 2023-06-01
 *
 * A message is a list of blocks, and turns alternate: the results of several calls are
 * blocks of one turn. A text block may not be blank, so a reply that was gets words in
 * the conversation that is sent. In a stream each event names its type, also in its data.
 */

#include "agent/model/fence.h"
#include "agent/model/response.h"
#include "agent/model/tool.h"

#define DEFAULT_REPLY_TOKENS 8192 /* the interface asks for a number */

/* a new object with its type, in a list of blocks */
static cJSON *add_block(cJSON *list, const char *type)
{
	cJSON *block = json_append(list);

	json_add(block, "type", type);
	return block;
}

static void add_text(cJSON *list, const char *text)
{
	json_add(add_block(list, "text"), "text", text);
}

static void add_pictures(cJSON *list, const struct message *m)
{
	for (const cJSON *one = json_first(m->pictures); one; one = one->next) {
		cJSON *source =
			cJSON_AddObjectToObject(add_block(list, "image"), "source");

		json_add(source, "type", "base64");
		json_add(source, "media_type", "image/png");
		/* neither mended nor copied: it is long, and base64 */
		json_add(source, "data", cJSON_CreateStringReference(one->valuestring));
	}
}

/*
 * No thinking is sent back. The interface asks for blocks of thinking with their
 * signatures beside a tool's result only where the request has enabled thinking, and
 * ask() never does.
 */
static void add_message(cJSON *list, const struct message *m)
{
	if (m->call_id) {
		cJSON *block = add_block(list, "tool_result");

		json_add(block, "tool_use_id", m->call_id);
		list = cJSON_AddArrayToObject(block, "content");
	}
	if (!fence_blank((struct span){ m->text, strlen(m->text) }))
		add_text(list, m->text);
	else if (!m->call_count)
		add_text(list, "(an empty reply)");
	add_pictures(list, m);
	for (size_t i = 0; i < m->call_count; i++) {
		cJSON *block = add_block(list, "tool_use");

		json_add(block, "id", m->calls[i].id);
		json_add(block, "name", m->calls[i].name);
		(void)cJSON_AddRawToObject(block, "input",
					   text_string(&m->calls[i].arguments));
	}
}

/* messages of one role that follow each other become one turn */
static void add_turns(cJSON *root, const struct chat *chat)
{
	cJSON *turns = cJSON_AddArrayToObject(root, "messages");
	cJSON *content = NULL;
	enum role last = ROLE_SYSTEM;

	for (size_t i = 0; i < chat->count; i++) {
		const struct message *m = &chat->list[i];

		if (m->role == ROLE_SYSTEM) {
			json_add(root, "system", m->text);
			continue;
		}
		if (m->role != last) {
			cJSON *turn = json_append(turns);

			json_add(turn, "role", chat_roles[m->role]);
			content = cJSON_AddArrayToObject(turn, "content");
		}
		last = m->role;
		add_message(content, m);
	}
}

static void ask(const struct model *m, const struct chat *chat, cJSON *root)
{
	uint64_t most = m->reply_tokens ? m->reply_tokens : DEFAULT_REPLY_TOKENS;

	json_add(root, "model", m->plan->model_name);
	json_add(root, "max_tokens", most);
	(void)cJSON_AddTrueToObject(root, "stream");
	if (m->plan->tools)
		tool_offer(cJSON_AddArrayToObject(root, "tools"), NULL, "input_schema");
	add_turns(root, chat);
}

/* tokens that a cache had, or has now, are told beside the others, and added to them */
static void take_usage(struct response *a, const cJSON *usage)
{
	uint64_t before = a->prompt_tokens;
	uint64_t cached = 0, written = 0;

	(void)json_count(usage, "output_tokens", &a->completion_tokens);
	(void)json_count(usage, "input_tokens", &a->prompt_tokens);
	if (!json_get(usage, "input_tokens"))
		return;
	(void)json_count(usage, "cache_read_input_tokens", &cached);
	(void)json_count(usage, "cache_creation_input_tokens", &written);
	a->prompt_tokens += cached + written;
	/* later counts are of the whole, but some servers leave the prompt's out: 0 */
	if (a->prompt_tokens < before) {
		a->prompt_tokens = before;
		return;
	}
	a->cached_tokens = cached;
	a->cache_write_tokens = written;
}

/* a block as it begins in a stream, or whole, or a piece of one */
static void take_block(struct reply *r, const cJSON *block, long number)
{
	const char *type = json_text(block, "type");
	bool begins = strcmp(type, "tool_use") == 0;
	const cJSON *input = json_get(block, begins ? "input" : "partial_json");

	if (strcmp(type, "text") == 0 || strcmp(type, "text_delta") == 0)
		response_text(&r->text, block, "text");
	if (strcmp(type, "thinking") == 0 || strcmp(type, "thinking_delta") == 0)
		response_text(&r->reasoning, block, "thinking");
	if (strcmp(type, "redacted_thinking") == 0)
		text_puts(&r->reasoning, "(thinking that the server does not show)\n");
	if (!begins &&
	    (strcmp(type, "input_json_delta") != 0 || !*json_text(block, "partial_json")))
		return;

	struct call *c = reply_call(r, number, json_string(block, "id"));

	if (!c)
		return;
	if (begins)
		call_name(c, json_text(block, "name"));
	if (!begins || cJSON_GetArraySize(input) > 0) /* else its pieces follow */
		response_arguments(c, input);
}

static int event(struct response *a, const cJSON *event, bool streamed, struct err *e)
{
	const char *type = json_string(event, "type");
	const cJSON *content = json_get(event, "content");
	long number = response_number(event);

	if (!streamed && !cJSON_IsArray(content))
		return err_say(e, EBADMSG, "the model's answer has no list of blocks");
	if (streamed && !type)
		return err_say(e, EAGAIN, "an event of the model's answer has no type");
	if (!streamed) {
		number = 0;
		take_usage(a, json_get(event, "usage"));
		for (const cJSON *block = json_first(content); block; block = block->next)
			take_block(a->reply, block, number++);
		response_finish(a, json_string(event, "stop_reason"));
	} else if (strcmp(type, "message_start") == 0) {
		a->begun = true;
		take_usage(a, json_get(json_get(event, "message"), "usage"));
	} else if (strcmp(type, "content_block_start") == 0) {
		take_block(a->reply, json_get(event, "content_block"), number);
	} else if (strcmp(type, "content_block_delta") == 0) {
		take_block(a->reply, json_get(event, "delta"), number);
	} else if (strcmp(type, "message_delta") == 0) {
		response_finish(a, json_string(json_get(event, "delta"), "stop_reason"));
		take_usage(a, json_get(event, "usage"));
	} else if (strcmp(type, "message_stop") == 0) {
		a->done = true;
	}
	return 0; /* others there may be: "ping", and some yet to come */
}

const struct dialect anthropic_dialect = {
	.path = "/messages",
	.key_prefix = "x-api-key: ",
	.header = "anthropic-version: 2023-06-01",
	.ask = ask,
	.event = event,
};
