/* SPDX-License-Identifier: MIT */
/*
 * done.c - the JSON of `stepjail serve`: see done.h
 */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "agent/base/escape.h"
#include "agent/base/json.h"
#include "agent/session/done.h"
#include "agent/session/report.h"

/* a count of the kernel's; 0 where there is none, as for null */
static uint64_t number(const cJSON *item, uint64_t most)
{
	if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0))
		return 0;
	return item->valuedouble >= (double)most ? most : (uint64_t)item->valuedouble;
}

static void take_words(const cJSON *item, char *words, size_t size)
{
	cleanup_text struct text shown = { 0 };

	words[0] = '\0';
	if (!cJSON_IsString(item))
		return;
	escape_line(&shown, item->valuestring, strlen(item->valuestring));
	(void)snprintf(words, size, "%s", text_string(&shown));
	/* it may be told to a model: plain ASCII, and a cut leaves no half character */
	for (char *c = words; *c; c++)
		if ((unsigned char)*c < ' ' || (unsigned char)*c >= 0x7f)
			*c = '?';
}

static bool says(const cJSON *root, const char *name, const char *word)
{
	const char *said = cJSON_GetStringValue(json_get(root, name));

	return said && strcmp(said, word) == 0;
}

bool done_says(const char *json, size_t length, const char *name, const char *word)
{
	cJSON *root = json_parse(json, length);
	bool is = says(root, name, word);

	cJSON_Delete(root);
	return is;
}

bool done_is_object(const char *json, size_t length)
{
	cJSON *root = json_parse(json, length);
	bool is = cJSON_IsObject(root);

	cJSON_Delete(root);
	return is;
}

void done_words(const char *json, size_t length, char *words, size_t size)
{
	cJSON *root = json_parse(json, length);
	const cJSON *error = json_get(root, "error");

	take_words(cJSON_IsString(error) ? error : json_get(root, "reason"), words, size);
	if (says(root, "kind", "file")) {
		const char *cause = strstr(words, ": ");

		if (cause)
			memmove(words, cause + 2, strlen(cause + 2) + 1);
	}
	cJSON_Delete(root);
}

static bool take_state(const cJSON *root, struct verdict_facts *f)
{
	const cJSON *state = json_get(root, "state");
	const cJSON *head = json_get(root, "state_number");

	if (!cJSON_IsString(state) || !state_find(state->valuestring, &f->state))
		return false;
	f->head = (uint32_t)number(head, UINT32_MAX);
	f->headed = cJSON_IsNumber(head);
	return true;
}

static void take_shared(const cJSON *list, bool *shared)
{
	static const char *const names[SHARED_COUNT] = {
		[SHARED_MEMORY] = "shared-memory",
		[SHARED_OFFSETS] = "file-offsets",
	};
	const cJSON *one;

	cJSON_ArrayForEach(one, list)
	{
		const char *word = cJSON_GetStringValue(one);

		for (int i = 0; word && i < SHARED_COUNT; i++)
			shared[i] |= strcmp(word, names[i]) == 0;
	}
}

/* what stepjail did not send of a stream: how much, and its last bytes */
static void take_cut(const cJSON *output, const char *cut_name, const char *tail_name,
		     struct clip *clip)
{
	const cJSON *tail = json_get(output, tail_name);
	uint64_t cut = number(json_get(output, cut_name), (uint64_t)1 << 52);
	size_t length = cJSON_IsString(tail) ? strlen(tail->valuestring) : 0;

	if (!cut)
		return;
	/* bytes that are no UTF-8 are three in there, so it may be longer than it was */
	clip_resume(clip, cut > length ? cut - length : 0,
		    length ? tail->valuestring : "", length);
}

bool done_read(const char *json, size_t length, struct step *step)
{
	cJSON *root = json_parse(json, length);
	struct verdict_facts f = { .limit_ms = step->facts.limit_ms };
	bool good = cJSON_IsObject(root) && report_take(root, &f) && take_state(root, &f);

	if (good) {
		/* a limit that the code lived to see was kept by an interrupt */
		f.soft = f.state == STATE_KEPT;
		take_shared(json_get(root, "not_rolled_back"), f.shared);
		take_words(json_get(root, "reason"), f.reason, sizeof(f.reason));
		step->facts = f;
		step->cpu_ms = number(json_get(root, "cpu_ms"), UINT32_MAX);
		step->max_rss_bytes =
			number(json_get(root, "memory_peak_bytes"), (uint64_t)1 << 52);
		step->strays = (uint32_t)(number(json_get(root, "strays"), INT32_MAX) +
					  number(json_get(root, "threads"), INT32_MAX));
		take_cut(json_get(root, "output"), "stdout_cut", "stdout_tail",
			 &step->out);
		take_cut(json_get(root, "output"), "stderr_cut", "stderr_tail",
			 &step->err);
	}
	cJSON_Delete(root);
	return good;
}
