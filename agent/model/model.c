/* SPDX-License-Identifier: MIT */
/*
 * model.c - models by name: see model.h
 */
#include <stdlib.h>

#include "agent/model/model.h"
#include "agent/model/response.h"
#include "agent/model/think.h"

static const struct provider providers[] = {
	{ "scripted", NULL, NULL, NULL },
	{ "openai", &openai_dialect, "https://api.openai.com/v1", "OPENAI_API_KEY" },
	{ "anthropic", &anthropic_dialect, "https://api.anthropic.com/v1",
	  "ANTHROPIC_API_KEY" },
	{ "ollama", &openai_dialect, "http://127.0.0.1:11434/v1", NULL },
	{ "llamacpp", &openai_dialect, "http://127.0.0.1:8080/v1", NULL },
	{ "vllm", &openai_dialect, "http://127.0.0.1:8000/v1", NULL },
};

int model_open(struct model *m, const char *name, const struct model_plan *plan,
	       struct err *e)
{
	size_t length = strcspn(name, ":/");
	bool colon = name[length] == ':', served;

	*m = (struct model){ .plan = plan, .script.path = name + length + colon };
	for (size_t i = 0; i < COUNT(providers); i++)
		if (strlen(providers[i].name) == length &&
		    strncmp(providers[i].name, name, length) == 0)
			m->provider = &providers[i];
	if (!m->provider || (!m->provider->dialect && name[length] == '/'))
		return err_say(
			e, EINVAL,
			"--model: '%.80s' is no model; give scripted:FILE, or openai, anthropic, ollama, llamacpp or vllm, alone or with a name as in openai/NAME",
			name);
	served = m->provider->dialect;
	if (served && colon)
		return err_say(
			e, EINVAL,
			"--model: write '%s' alone and the model's name to --model-name, or both as %s/NAME",
			m->provider->name, m->provider->name);
	if (!served && !*m->script.path)
		return err_say(e, EINVAL, "--model: give %s:FILE", m->provider->name);
	if (!served &&
	    (plan->base_url || plan->key_file || plan->header_file || plan->settings))
		return err_say(
			e, EINVAL,
			"%s: is for a model on a server, and '%s' is not on one: leave it out",
			plan->base_url      ? "--base-url"
			: plan->key_file    ? "--key-file"
			: plan->header_file ? "--header-file"
					    : "--set",
			m->provider->name);
	return (served ? server_open : scripted_open)(m, e);
}

/* arguments are JSON within JSON: an escape in them is read once more, by tool.c */
static void cover_call(const struct mask *mask, struct text *arguments)
{
	cleanup_text struct text plain = { 0 };
	cleanup_json cJSON *root = NULL;

	json_plain(text_string(arguments), arguments->length, &plain);
	if (!mask_cover(mask, plain.bytes, plain.length, 0))
		return;
	if (!memchr(plain.bytes, '\0', plain.length)) /* cJSON would read no further */
		root = json_parse(arguments->bytes, arguments->length);
	text_clear(arguments);
	if (root && mask_json(mask, root))
		json_print(root, arguments);
	else
		text_add(arguments, plain.bytes, plain.length);
}

/* when nothing more is taken apart, or put together: pieces may have hidden the key */
static void cover(const struct mask *mask, struct reply *r)
{
	(void)mask_cover(mask, r->text.bytes, r->text.length, 0);
	(void)mask_cover(mask, r->reasoning.bytes, r->reasoning.length, 0);
	for (size_t i = 0; i < r->call_count; i++)
		cover_call(mask, &r->calls[i].arguments);
}

int model_ask(struct model *m, const struct chat *chat, uint64_t deadline_ms,
	      struct reply *reply, struct err *e)
{
	reply_begin(reply);

	int r = m->provider->dialect ? server_ask(m, chat, deadline_ms, reply, e)
				     : scripted_ask(m, chat, reply, e);

	if (r < 0)
		return r;
	reply_end(reply, &m->serial);
	r = think_split(reply, e);
	if (m->client)
		cover(&m->client->hello.mask, reply);
	return r;
}

void model_close(struct model *m)
{
	client_close(m->client);
	free(m->base_url);
	text_free(&m->script.text);
	text_free(&m->label);
	*m = (struct model){ 0 };
}
