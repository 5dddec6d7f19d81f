/* SPDX-License-Identifier: MIT */
/*
 * budget.c - what a task may cost: see budget.h
 */
#include "agent/base/file.h"
#include "agent/base/units.h"
#include "agent/budget/budget.h"

#define FILE_MAX ((size_t)1 << 20)
#define DOLLARS_MAX 1e6 /* for a million tokens */
#define PICO_PER_MILLIONTH 1e6

#define LIMIT(kind, index) OPT_ROW(LIMITS, kind, struct budget_options, limit[index])

const struct opt budget_opts[] = {
	{ "steps", "NUMBER", "10", LIMIT(COUNT, BUDGET_STEPS),
	  "Steps that the model may take.", .common = true, .min = 1, .max = 1000 },
	{ "wall-time", "TIME", "10m", LIMIT(TIME, BUDGET_WALL_MS),
	  "End the task after this much time.", .common = true, .min = 100,
	  .max = 24 * HOUR_MS },
	{ "total-cpu-time", "TIME", NULL, LIMIT(TIME, BUDGET_CPU_MS),
	  "CPU time of all steps together.", .min = 100, .max = 24 * HOUR_MS },
	{ "total-output", "SIZE", NULL, LIMIT(SIZE, BUDGET_OUTPUT_BYTES),
	  "Bytes that all steps together may print.", .min = 1, .max = UINT64_MAX / 2 },
	{ "total-tokens", "NUMBER", NULL, LIMIT(COUNT, BUDGET_TOKENS),
	  "Tokens of all requests and replies together, as the server counts them; where it does not, they are estimated from bytes.",
	  .min = 1, .max = 1000000000000 },
	{ "total-cost", "DOLLARS", NULL, LIMIT(MONEY, BUDGET_COST_PICO),
	  "Dollars that all requests may cost; needs --prices.", .common = true,
	  .max = UINT64_MAX },
	{ "prices", "FILE", NULL, OPT_COMMON(LIMITS, TEXT, struct budget_options, prices),
	  "A JSON file of prices, in dollars for a million tokens: {\"MODEL\": {\"input\": 2.5, \"output\": 10}}; \"*\" stands for any other model. \"cached\" and \"cache_write\" are for tokens of a server's cache, which else cost what input does." },
	{ .name = NULL },
};

/* what is left of the wall clock: no finer than a plan needs */
static struct said say_rest(uint64_t ms)
{
	uint64_t unit = ms >= 120000 ? 60000 : ms >= 10000 ? 10000 : 1000;

	return units_say_time(ms / unit * unit);
}

static const struct {
	const char *json;   /* in --json */
	const char *option; /* that sets it */
	const char *what;   /* "the WHAT used up" */
	const char *noun;   /* behind the number that is left */
	struct said (*say)(uint64_t n);
	struct said (*say_left)(uint64_t n);
	bool replies; /* ends the task, and not its steps alone */
} kinds[BUDGET_KINDS] = {
	[BUDGET_STEPS] = { "steps", "--steps", "steps are", " steps", units_say_count,
			   units_say_count, false },
	[BUDGET_WALL_MS] = { "wall_ms", "--wall-time", "wall time is", "", units_say_time,
			     say_rest, true },
	[BUDGET_CPU_MS] = { "cpu_ms", "--total-cpu-time", "CPU time is", " of CPU time",
			    units_say_time, units_say_time, false },
	[BUDGET_OUTPUT_BYTES] = { "output_bytes", "--total-output", "room for output is",
				  " of output", units_say_size, units_say_size, false },
	[BUDGET_TOKENS] = { "tokens", "--total-tokens", "tokens are", " tokens",
			    units_say_count, units_say_count, true },
	[BUDGET_COST_PICO] = { "cost_dollars", "--total-cost", "money is", "",
			       units_say_money, units_say_money, true },
};

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

	if (file_read(path, "--prices: ", &file, e) < 0)
		return -e->errnum;
	root = json_parse(text_string(&file), file.length);

	const cJSON *row = json_get(root, model_name);

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

int budget_make(const struct budget_options *o, const char *model_name, struct budget *b,
		struct err *e)
{
	*b = (struct budget){ .started_ms = units_now_ms(), .priced = o->prices };
	for (enum budget_kind kind = 0; kind < BUDGET_KINDS; kind++)
		b->limit[kind] = o->limit[kind] ? o->limit[kind] : BUDGET_NONE;
	if (o->limit[BUDGET_COST_PICO] && !o->prices)
		return err_say(
			e, EINVAL,
			"--total-cost: the price of tokens is not known; give --prices FILE");
	if (o->prices && !model_name)
		return err_say(
			e, EINVAL,
			"--prices: the model's name is not known; give --model-name NAME");
	return o->prices ? prices_load(o->prices, model_name, &b->price, e) : 0;
}

static void add(uint64_t *to, uint64_t more)
{
	if (__builtin_add_overflow(*to, more, to))
		*to = BUDGET_NONE - 1;
}

void budget_judged(struct budget *b, const struct step *step)
{
	add(&b->used[BUDGET_CPU_MS], step->cpu_ms);
}

void budget_step(struct budget *b, const struct step *step)
{
	add(&b->used[BUDGET_STEPS], 1);
	if (!step)
		return;
	add(&b->used[BUDGET_CPU_MS], step->cpu_ms);
	for (size_t i = 0; i < COUNT(step->streams); i++)
		add(&b->used[BUDGET_OUTPUT_BYTES], step->streams[i].total);
	if (step->media)
		add(&b->used[BUDGET_OUTPUT_BYTES], step->media->said.total);
}

void budget_model(struct budget *b, const struct usage *usage)
{
	b->used[BUDGET_TOKENS] = usage->prompt_tokens;
	add(&b->used[BUDGET_TOKENS], usage->completion_tokens);
	b->used[BUDGET_COST_PICO] = prices_cost(&b->price, usage);
}

static uint64_t used(const struct budget *b, enum budget_kind kind)
{
	return kind == BUDGET_WALL_MS ? units_now_ms() - b->started_ms : b->used[kind];
}

uint64_t budget_left(const struct budget *b, enum budget_kind kind)
{
	uint64_t gone = used(b, kind);

	if (b->limit[kind] == BUDGET_NONE)
		return BUDGET_NONE;
	return gone < b->limit[kind] ? b->limit[kind] - gone : 0;
}

enum budget_kind budget_ended(const struct budget *b, bool replies)
{
	enum budget_kind kind = 0;

	while (kind < BUDGET_KINDS &&
	       (kinds[kind].replies != replies || budget_left(b, kind) > 0))
		kind++;
	return kind;
}

uint64_t budget_reply_tokens(const struct budget *b, uint64_t asked)
{
	uint64_t left = budget_left(b, BUDGET_TOKENS);
	uint64_t money = budget_left(b, BUDGET_COST_PICO);
	const struct price *p = &b->price;
	/* nobody knows yet what of it a cache has: at the dearest */
	const struct usage question = {
		.prompt_tokens = asked,
		.cache_write_tokens = p->cache_write_pico > p->input_pico ? asked : 0,
	};
	uint64_t cost = prices_cost(p, &question);

	if (left != BUDGET_NONE)
		left = left > asked ? left - asked : 0;
	if (money == BUDGET_NONE)
		return left;
	money = money > cost ? money - cost : 0;
	if (p->output_pico && money / p->output_pico < left)
		return money / p->output_pico;
	return money ? left : 0;
}

void budget_words(const struct budget *b, enum budget_kind kind, struct text *out)
{
	uint64_t left = kind == BUDGET_WALL_MS ? 0 : budget_left(b, kind);

	text_printf(out, "the %s used up (%s %s", kinds[kind].what, kinds[kind].option,
		    kinds[kind].say(b->limit[kind]).text);
	if (left)
		text_printf(out, "; %s left, too little for another request",
			    kinds[kind].say(left).text);
	text_puts(out, ")");
}

void budget_tell(const struct budget *b, struct text *out)
{
	enum budget_kind ended = budget_ended(b, false);
	const char *comma = "";

	text_puts(out, "Left for the task: ");
	for (enum budget_kind kind = 0; kind < BUDGET_KINDS; kind++) {
		if (b->limit[kind] == BUDGET_NONE)
			continue;
		text_printf(out, "%s%s%s", comma,
			    kinds[kind].say_left(budget_left(b, kind)).text,
			    kinds[kind].noun);
		comma = ", ";
	}
	text_puts(out, ".\n");
	if (ended != BUDGET_KINDS)
		text_printf(
			out,
			"The %s used up, so no step is left: give your final answer now, without code.\n",
			kinds[ended].what);
}

static cJSON *number(enum budget_kind kind, uint64_t n)
{
	return n == BUDGET_NONE
		       ? cJSON_CreateNull()
		       : cJSON_CreateNumber((double)n /
					    (kind == BUDGET_COST_PICO ? 1e12 : 1));
}

cJSON *budget_json(const struct budget *b)
{
	cJSON *o = cJSON_CreateObject();

	for (enum budget_kind kind = 0; kind < BUDGET_KINDS; kind++) {
		cJSON *one;

		if (kind == BUDGET_COST_PICO && !b->priced)
			continue; /* nobody knows */
		one = cJSON_AddObjectToObject(o, kinds[kind].json);
		json_add(one, "used", number(kind, used(b, kind)));
		json_add(one, "limit", number(kind, b->limit[kind]));
	}
	return o;
}
