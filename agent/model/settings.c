/* SPDX-License-Identifier: MIT */
/*
 * settings.c - more members of each request: see settings.h
 */

#include "agent/base/memory.h"
#include "agent/model/settings.h"
#include "init/io.h"

/* what the agent itself says, or counts on */
static const struct {
	const char *name, *instead;
} reserved[] = {
	{ "messages", "the conversation is the agent's" },
	{ "model", "give --model-name" },
	{ "stream", "answers are asked for as streams" },
	{ "stream_options", "answers are asked for as streams" },
	{ "tools", "give --code-in tools" },
	{ "system", "give --system" },
	{ "max_tokens", "give --reply-tokens" },
	{ "max_completion_tokens", "give --reply-tokens" },
	{ "n", "one answer is asked for" },
};

static int take(const char *item, cJSON *into, struct err *e)
{
	const char *json = strchrnul(item, '=');
	size_t length = (size_t)(json - item);

	if (!*json || !length || strspn(item, TEXT_WORD "-") != length)
		return err_say(
			e, EINVAL,
			"--set: '%.80s' is not KEY=JSON, such as temperature=0.2 or reasoning='{\"effort\": \"high\"}'",
			item);

	cleanup_free char *key = memory_string(item);

	key[length] = '\0';
	for (size_t i = 0; i < COUNT(reserved); i++)
		if (strcmp(reserved[i].name, key) == 0)
			return err_say(e, EINVAL, "--set: '%s' cannot be set: %s", key,
				       reserved[i].instead);
	if (json_get(into, key))
		return err_say(e, EINVAL, "--set: '%.80s' is given twice", key);

	cJSON *value = json_parse(json + 1, strlen(json + 1));

	if (!value)
		return err_say(
			e, EINVAL,
			"--set: the value of '%.80s' is not JSON: '%.80s'; a string has quotes, as in effort='\"high\"'",
			key, json + 1);
	json_add(into, key, value);
	return 0;
}

int settings_make(const struct opt_list *items, cJSON **into, struct err *e)
{
	int r = 0;

	*into = items->count ? cJSON_CreateObject() : NULL;
	for (size_t i = 0; r == 0 && i < items->count; i++)
		r = take(items->items[i], *into, e);
	return r;
}

void settings_add(cJSON *request, const cJSON *settings)
{
	const cJSON *one = NULL;

	cJSON_ArrayForEach(one, settings)
	{
		json_add(request, one->string, cJSON_Duplicate(one, true));
	}
}
