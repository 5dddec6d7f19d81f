/* SPDX-License-Identifier: MIT */
/*
 * prices.c - what a model's tokens cost: see prices.h
 */
#include <errno.h>

#include "agent/base/file.h"
#include "agent/base/json.h"
#include "agent/base/text.h"
#include "agent/budget/prices.h"

#define FILE_MAX ((size_t)1 << 20)
#define DOLLARS_MAX 1e6 /* for a million tokens */
#define PICO_PER_MILLIONTH 1e6

static int take_row(const cJSON *row, struct price *p)
{
	const struct {
		const char *name;
		uint64_t *pico;
		bool optional; /* it costs what input does */
	} members[] = {
		{ "input", &p->input_pico, false },
		{ "output", &p->output_pico, false },
		{ "cached", &p->cached_pico, true },
		{ "cache_write", &p->cache_write_pico, true },
	};

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		const cJSON *dollars = json_get(row, members[i].name);

		*members[i].pico = p->input_pico;
		if (!dollars && members[i].optional)
			continue;
		if (!dollars || !cJSON_IsNumber(dollars) ||
		    !(dollars->valuedouble >= 0 && dollars->valuedouble <= DOLLARS_MAX))
			return -EINVAL;
		*members[i].pico =
			(uint64_t)(dollars->valuedouble * PICO_PER_MILLIONTH + 0.5);
	}
	return 0;
}

int prices_load(const char *path, const char *model_name, struct price *p, struct err *e)
{
	cleanup_text struct text file = { .max = FILE_MAX };
	cleanup_json cJSON *root = NULL;
	const cJSON *row;

	if (file_read(path, "--prices: ", &file, e) < 0)
		return -e->errnum;
	root = json_parse(text_string(&file), file.length);
	row = json_get(root, model_name);
	if (!row)
		row = json_get(root, "*");
	if (!cJSON_IsObject(root))
		return err_say(e, EINVAL, "--prices: %s is not a JSON object", path);
	if (!row)
		return err_say(e, ENOENT,
			       "--prices: %s has no price for the model '%.100s'", path,
			       model_name);
	if (take_row(row, p) < 0)
		return err_say(
			e, EINVAL,
			"--prices: %s: the price of '%.100s' is not {\"input\": DOLLARS, \"output\": DOLLARS}, with \"cached\" and \"cache_write\" if it has them, each for a million tokens and from 0 to 1000000",
			path, model_name);
	return 0;
}

uint64_t prices_cost(const struct price *p, const struct usage *u)
{
	uint64_t special = u->cached_tokens + u->cache_write_tokens;
	const struct {
		uint64_t tokens, pico;
	} parts[] = {
		{ u->prompt_tokens - special, p->input_pico },
		{ u->cached_tokens, p->cached_pico },
		{ u->cache_write_tokens, p->cache_write_pico },
		{ u->completion_tokens, p->output_pico },
	};
	uint64_t all = 0, part;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (__builtin_mul_overflow(parts[i].tokens, parts[i].pico, &part) ||
		    __builtin_add_overflow(all, part, &all) || all == UINT64_MAX)
			return UINT64_MAX - 1;
	return all;
}
