/* SPDX-License-Identifier: MIT */
/*
 * openai_json.c - the dialect of chat completions
 *
 * Spoken by OpenAI, and by Ollama, llama.cpp's server, vLLM and many others, each with
 * habits of its own: some send no "[DONE]", some no usage, some number every call 0 or not
 * at all, some send arguments as an object, some answer without a stream. What cannot be
 * misunderstood is taken from all of them.
 */

#include "agent/model/response.h"
#include "agent/model/tool.h"

/* calls without a number of the server's are counted from here on */
#define UNNUMBERED ((long)UINT32_MAX + 1)

/* the type of a new object, and the object of that name in it */
static cJSON *add_function(cJSON *one)
{
	json_add(one, "type", "function");
	return cJSON_AddObjectToObject(one, "function");
}

static void add_calls(cJSON *message, const struct message *m)
{
	cJSON *list = cJSON_AddArrayToObject(message, "tool_calls");

	for (size_t i = 0; i < m->call_count; i++) {
		cJSON *one = json_append(list);
		cJSON *function;

		json_add(one, "id", m->calls[i].id);
		function = add_function(one);
		json_add(function, "name", m->calls[i].name);
		json_add(function, "arguments", text_string(&m->calls[i].arguments));
	}
}

/* words, and the pictures of a message. A tool's result has text alone there: they are
 * the user's then */
static void add_pictures(cJSON *one, const char *words, const struct message *m)
{
	cJSON *parts = cJSON_AddArrayToObject(one, "content");
	cJSON *part = json_append(parts);

	json_add(part, "type", "text");
	json_add(part, "text", words);
	for (const cJSON *picture = json_first(m->pictures); picture;
	     picture = picture->next) {
		cleanup_text struct text url = { 0 };

		text_printf(&url, "data:image/png;base64,%s", picture->valuestring);
		part = json_append(parts);
		json_add(part, "type", "image_url");
		json_add(cJSON_AddObjectToObject(part, "image_url"), "url",
			 cJSON_CreateString(text_string(&url)));
	}
}

static void add_message(cJSON *messages, const struct message *m)
{
	cJSON *one = json_append(messages);

	json_add(one, "role", m->call_id ? "tool" : chat_roles[m->role]);
	if (json_first(m->pictures) && !m->call_id)
		add_pictures(one, m->text, m);
	else
		json_add(one, "content", m->call_count && !*m->text ? NULL : m->text);
	if (m->call_id)
		json_add(one, "tool_call_id", m->call_id);
	else if (m->call_count)
		add_calls(one, m);
}

/* behind the results of all calls of a reply, of which the first is the step's */
static void add_shown(cJSON *messages, const struct chat *chat, size_t last)
{
	size_t first = last;

	while (first && chat->list[first - 1].call_id)
		first--;
	if (!json_first(chat->list[first].pictures))
		return;

	cJSON *one = json_append(messages);

	json_add(one, "role", chat_roles[ROLE_USER]);
	add_pictures(one, "What the step showed:", &chat->list[first]);
}

static void ask(const struct model *m, const struct chat *chat, cJSON *root)
{
	cJSON *messages = cJSON_AddArrayToObject(root, "messages");
	bool is_openai = strncmp(m->base_url, "https://api.openai.com/", 23) == 0;

	json_add(root, "model", m->plan->model_name);
	(void)cJSON_AddTrueToObject(root, "stream");
	(void)cJSON_AddTrueToObject(cJSON_AddObjectToObject(root, "stream_options"),
				    "include_usage");
	if (m->reply_tokens)
		json_add(root, is_openai ? "max_completion_tokens" : "max_tokens",
			 m->reply_tokens);
	if (m->plan->tools)
		tool_offer(cJSON_AddArrayToObject(root, "tools"), add_function,
			   "parameters");
	for (size_t i = 0; i < chat->count; i++) {
		add_message(messages, &chat->list[i]);
		if (chat->list[i].call_id &&
		    (i + 1 == chat->count || !chat->list[i + 1].call_id))
			add_shown(messages, chat, i);
	}
}

/* a call, or a piece of one */
static void take_call(struct reply *r, const cJSON *piece, bool streamed)
{
	const cJSON *function = json_get(piece, "function");
	const char *name = json_string(function, "name");
	long number = response_number(piece);

	if (!cJSON_IsObject(piece))
		return;
	/* without numbers a name begins a call, and what has none goes on with it; an
	 * answer that is no stream has whole calls alone */
	if (!streamed || (number < 0 && name))
		number = UNNUMBERED + (long)r->call_count;

	struct call *c = reply_call(r, number, json_string(piece, "id"));

	if (!c)
		return;
	if (name && !c->name[0])
		call_name(c, name);
	response_arguments(c, json_get(function, "arguments"));
}

static void take_message(struct response *a, const cJSON *message, bool streamed)
{
	struct reply *r = a->reply;
	/* DeepSeek and vLLM; OpenRouter, Ollama and newer vLLM, which may send both */
	bool newer = !json_string(message, "reasoning_content");

	response_text(&r->reasoning, message, newer ? "reasoning" : "reasoning_content");
	response_text(&r->text, message, "content");
	response_text(&r->text, message, "refusal");
	if (*json_text(message, "refusal"))
		r->finish = FINISH_REFUSED;
	for (const cJSON *call = json_first(json_get(message, "tool_calls")); call;
	     call = call->next)
		take_call(r, call, streamed);
}

/* tokens that a cache had are among those of the prompt */
static void take_usage(struct response *a, const cJSON *usage)
{
	(void)json_count(usage, "prompt_tokens", &a->prompt_tokens);
	(void)json_count(usage, "completion_tokens", &a->completion_tokens);
	(void)json_count(json_get(usage, "prompt_tokens_details"), "cached_tokens",
			 &a->cached_tokens);
}

static int event(struct response *a, const cJSON *event, bool streamed, struct err *e)
{
	const cJSON *choices = json_get(event, "choices");
	const struct reply *r = a->reply;
	const cJSON *content = NULL;

	take_usage(a, json_get(event, "usage"));
	if (!cJSON_IsArray(choices) && streamed &&
	    cJSON_IsObject(json_get(event, "usage")))
		return 0;
	if (!cJSON_IsArray(choices))
		return err_say(e, streamed ? EAGAIN : EBADMSG,
			       "the model's answer has no list of choices");
	a->begun = streamed;
	for (const cJSON *choice = json_first(choices); choice; choice = choice->next) {
		const cJSON *delta = json_get(choice, "delta");
		const cJSON *message = delta ? delta : json_get(choice, "message");

		if (response_number(choice) > 0)
			continue; /* one answer is asked for */
		response_finish(a, json_string(choice, "finish_reason"));
		take_message(a, message, delta);
		content = json_get(message, "content");
		if (!streamed)
			break;
	}
	if (streamed || cJSON_IsString(content) || r->call_count ||
	    r->finish == FINISH_REFUSED || r->reasoning.length)
		return 0;
	return err_say(e, EBADMSG,
		       "the model's answer has no text in choices[0].message.content%s",
		       cJSON_IsNull(content) ? ", which is null" : "");
}

const struct dialect openai_dialect = {
	.path = "/chat/completions",
	.key_prefix = "Authorization: Bearer ",
	.ask = ask,
	.event = event,
};
