/* SPDX-License-Identifier: MIT */
/*
 * model.c - models by name: see model.h
 */
#include <errno.h>
#include <string.h>

#include "agent/model/model.h"
#include "agent/model/think.h"

static const struct model_ops *const models[] = {
	&scripted_ops, &openai_ops, &anthropic_ops, &ollama_ops, &llamacpp_ops, &vllm_ops,
};

int model_open(struct model *m, const char *name, struct model_plan *plan, struct err *e)
{
	size_t length = strcspn(name, ":");

	*m = (struct model){ .plan = plan };
	for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
		const struct model_ops *ops = models[i];

		if (strlen(ops->name) != length || strncmp(ops->name, name, length) != 0)
			continue;
		plan->argument = name[length] ? name + length + 1 : NULL;
		if (ops->argument && (!plan->argument || !*plan->argument))
			return err_say(e, EINVAL, "--model: give %s:%s", ops->name,
				       ops->argument);
		if (!ops->argument && plan->argument)
			return err_say(
				e, EINVAL,
				"--model: nothing follows '%s'; the model's name goes to --model-name",
				ops->name);
		if (ops->argument && (plan->base_url || plan->key_file))
			return err_say(
				e, EINVAL,
				"%s: belongs to a model on a server, and '%s' is none: leave it out",
				plan->base_url ? "--base-url" : "--key-file", ops->name);
		m->ops = ops;

		int r = ops->open(m, e);

		return r < 0 ? r : text_check(&m->label, "the model's name", e);
	}
	return err_say(
		e, EINVAL,
		"--model: '%.80s' is no model; give scripted:FILE, openai, anthropic, ollama, llamacpp or vllm",
		name);
}

int model_ask(struct model *m, const struct chat *chat, uint64_t deadline_ms,
	      struct reply *reply, struct err *e)
{
	reply_begin(reply);

	int r = m->ops->ask(m, chat, deadline_ms, reply, e);

	if (r == 0)
		r = text_check(&reply->text, "the model's reply", e);
	return r < 0 ? r : think_split(reply, e);
}

void model_close(struct model *m)
{
	if (m->ops)
		m->ops->close(m);
	text_free(&m->label);
	m->ops = NULL;
}
