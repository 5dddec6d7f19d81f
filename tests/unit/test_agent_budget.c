/* SPDX-License-Identifier: MIT */
/*
 * test_agent_budget.c - budgets, prices, and the units they are given in
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/units.h"
#include "agent/budget/budget.h"
#include "tests/unit/suites.h"

#define ROWS(table) ((int)(sizeof(table) / sizeof(table[0])))
#define DOLLAR 1000000000000

static struct budget make(void)
{
	struct budget b = { .started_ms = units_now_ms() };

	for (enum budget_kind kind = 0; kind < BUDGET_KINDS; kind++)
		b.limit[kind] = BUDGET_NONE;
	return b;
}

static const struct {
	enum budget_kind kind;
	uint64_t limit;
	bool replies;
	const char *words;
	const char *left; /* of the untouched budget */
} kinds[] = {
	{ BUDGET_STEPS, 2, false, "the steps are used up (--steps 2)", "2 steps." },
	{ BUDGET_WALL_MS, 600000, true, "the wall time is used up (--wall-time 10 min)",
	  " min." },
	{ BUDGET_CPU_MS, 1500, false, "the CPU time is used up (--total-cpu-time 1.5 s)",
	  "1.5 s of CPU time." },
	{ BUDGET_OUTPUT_BYTES, 1536, false,
	  "the room for output is used up (--total-output 1.5 KiB)",
	  "1.5 KiB of output." },
	{ BUDGET_TOKENS, 1000, true, "the tokens are used up (--total-tokens 1000)",
	  "1000 tokens." },
	{ BUDGET_COST_PICO, DOLLAR / 4, true,
	  "the money is used up (--total-cost $0.2500)", "$0.2500." },
	{ BUDGET_COST_PICO, DOLLAR / 80000, true,
	  "the money is used up (--total-cost $0.0000125)", "$0.0000125." },
};

START_TEST(each_budget_ends)
{
	struct budget b = make();
	enum budget_kind kind = kinds[_i].kind;
	cleanup_text struct text words = { 0 };
	cleanup_text struct text left = { 0 };

	ck_assert_int_eq(ROWS(kinds), BUDGET_KINDS + 1);
	ck_assert_uint_eq(budget_left(&b, kind), BUDGET_NONE);
	b.limit[kind] = kinds[_i].limit;
	ck_assert_int_eq(budget_ended(&b, true), BUDGET_KINDS);
	ck_assert_int_eq(budget_ended(&b, false), BUDGET_KINDS);
	budget_tell(&b, &left);
	ck_assert_msg(strstr(text_string(&left), kinds[_i].left) != NULL, "%s",
		      text_string(&left));
	ck_assert_ptr_null(strstr(text_string(&left), "give your final answer"));

	b.used[kind] = kinds[_i].limit;
	b.started_ms -= kind == BUDGET_WALL_MS ? 600000 : 0;
	ck_assert_uint_eq(budget_left(&b, kind), 0);
	ck_assert_int_eq(budget_ended(&b, kinds[_i].replies), kind);
	ck_assert_int_eq(budget_ended(&b, !kinds[_i].replies), BUDGET_KINDS);
	budget_words(&b, kind, &words);
	ck_assert_str_eq(text_string(&words), kinds[_i].words);
	text_clear(&words);
	b.used[kind] = 0;
	budget_words(&b, kind, &words);
	ck_assert(!strstr(text_string(&words), "too little for another request") ==
		  (kind == BUDGET_WALL_MS));
	b.used[kind] = kinds[_i].limit;
	text_clear(&left);
	budget_tell(&b, &left);
	ck_assert(!strstr(text_string(&left), "give your final answer") ==
		  kinds[_i].replies);
}
END_TEST

START_TEST(steps_and_replies_are_counted)
{
	struct budget b = make();
	static struct step step;
	struct usage usage = { .prompt_tokens = 100, .completion_tokens = 20 };

	step.cpu_ms = 250;
	step.out.total = 10;
	step.err.total = 20;
	step.trace.total = 30;
	step.result.total = 40;
	b.price = (struct price){ .input_pico = 2500000, .output_pico = 10000000 };
	budget_step(&b, &step);
	budget_step(&b, NULL);
	budget_model(&b, &usage);
	budget_model(&b, &usage); /* it is what was used in all, and not what is new */
	ck_assert_uint_eq(b.used[BUDGET_STEPS], 2);
	ck_assert_uint_eq(b.used[BUDGET_CPU_MS], 250);
	ck_assert_uint_eq(b.used[BUDGET_OUTPUT_BYTES], 100);
	ck_assert_uint_eq(b.used[BUDGET_TOKENS], 120);
	ck_assert_uint_eq(b.used[BUDGET_COST_PICO], 100 * 2500000 + 20 * 10000000);
	step.out.total = UINT64_MAX; /* whoever said that */
	budget_step(&b, &step);
	ck_assert_uint_eq(b.used[BUDGET_OUTPUT_BYTES], BUDGET_NONE - 1);
	b.limit[BUDGET_OUTPUT_BYTES] = 1;
	ck_assert_int_eq(budget_ended(&b, false), BUDGET_OUTPUT_BYTES);
}
END_TEST

START_TEST(a_reply_is_no_longer_than_can_be_paid)
{
	struct budget b = make();

	ck_assert_uint_eq(budget_reply_tokens(&b, 100), BUDGET_NONE);
	b.limit[BUDGET_TOKENS] = 1000;
	ck_assert_uint_eq(budget_reply_tokens(&b, 100), 900);
	ck_assert_uint_eq(budget_reply_tokens(&b, 1000), 0);
	ck_assert_uint_eq(budget_reply_tokens(&b, 1001), 0);
	b.limit[BUDGET_COST_PICO] = 1000;
	ck_assert_uint_eq(budget_reply_tokens(&b, 100), 900); /* free */
	b.price = (struct price){ .input_pico = 2, .output_pico = 10, .cached_pico = 1 };
	ck_assert_uint_eq(budget_reply_tokens(&b, 100), 80);
	ck_assert_uint_eq(budget_reply_tokens(&b, 500), 0);
	b.price.output_pico = 0;
	ck_assert_uint_eq(budget_reply_tokens(&b, 499), 501);
	ck_assert_uint_eq(budget_reply_tokens(&b, 500), 0);
	b.price.cache_write_pico = 4; /* all of it may go into a cache */
	ck_assert_uint_eq(budget_reply_tokens(&b, 249), 751);
	ck_assert_uint_eq(budget_reply_tokens(&b, 250), 0);
}
END_TEST

static const struct {
	const char *file;
	const char *model;
	int r;
	const char *says;
} prices[] = {
	{ "{\"m\":{\"input\":2.5,\"output\":10}}", "m", 0, NULL },
	{ "{\"*\":{\"input\":2.5,\"output\":10},\"n\":{\"input\":1,\"output\":1}}", "m",
	  0, NULL },
	{ "{\"n\":{\"input\":2.5,\"output\":10}}", "m", -ENOENT,
	  "has no price for the model 'm'" },
	{ "{\"m\":{\"input\":2.5}}", "m", -EINVAL, "the price of 'm' is not" },
	{ "{\"m\":{\"input\":-1,\"output\":10}}", "m", -EINVAL, "from 0 to 1000000" },
	{ "{\"m\":{\"input\":1e7,\"output\":10}}", "m", -EINVAL, "from 0 to 1000000" },
	{ "{\"m\":{\"input\":\"1\",\"output\":10}}", "m", -EINVAL, "is not" },
	{ "{\"m\":{\"input\":2.5,\"output\":10,\"cached\":2.5,\"cache_write\":2.5}}", "m",
	  0, NULL },
	{ "{\"m\":{\"input\":2.5,\"output\":10,\"cached\":\"1\"}}", "m", -EINVAL,
	  "is not" },
	{ "{\"m\":{\"input\":2.5,\"output\":10,\"cache_write\":-1}}", "m", -EINVAL,
	  "is not" },
	{ "{\"m\":7}", "m", -EINVAL, "is not" },
	{ "[]", "m", -EINVAL, "is not a JSON object" },
	{ "{", "m", -EINVAL, "is not a JSON object" },
	{ "", "m", -EINVAL, "is not a JSON object" },
};

START_TEST(prices_are_read)
{
	const char *path = unit_file(unit_folder(), "prices", prices[_i].file,
				     strlen(prices[_i].file));
	struct price p = { 0 };
	struct err e = { 0 };
	int r = prices_load(path, prices[_i].model, &p, &e);

	ck_assert_msg(r == prices[_i].r, "%d %s", r, e.text);
	if (r == 0) {
		ck_assert_uint_eq(p.input_pico, 2500000);
		ck_assert_uint_eq(p.output_pico, 10000000);
		ck_assert_uint_eq(p.cached_pico, 2500000);
		ck_assert_uint_eq(p.cache_write_pico, 2500000);
	} else {
		ck_assert_msg(strstr(e.text, prices[_i].says) != NULL, "%s", e.text);
	}
}
END_TEST

START_TEST(costs_are_held_at_the_largest_number)
{
	struct price p = {
		.input_pico = 3, .output_pico = 5, .cached_pico = 1, .cache_write_pico = 4
	};
	static const struct {
		struct usage u;
		uint64_t cost;
	} rows[] = {
		{ { .prompt_tokens = 7, .completion_tokens = 11 }, 76 },
		{ { .prompt_tokens = 7,
		    .completion_tokens = 11,
		    .cached_tokens = 3,
		    .cache_write_tokens = 2 },
		  2 * 3 + 3 * 1 + 2 * 4 + 11 * 5 },
		{ { .prompt_tokens = UINT64_MAX }, BUDGET_NONE - 1 },
		{ { .completion_tokens = UINT64_MAX }, BUDGET_NONE - 1 },
		{ { .prompt_tokens = UINT64_MAX / 3, .completion_tokens = 1 },
		  BUDGET_NONE - 1 },
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		ck_assert_uint_eq(prices_cost(&p, &rows[i].u), rows[i].cost);
}
END_TEST

START_TEST(budgets_are_made_of_options)
{
	struct budget_options o = { .limit = {
					    [BUDGET_STEPS] = 3, [BUDGET_WALL_MS] = 5 } };
	struct budget b;
	struct err e = { 0 };

	ck_assert_int_eq(budget_make(&o, NULL, &b, &e), 0);
	ck_assert_uint_eq(b.limit[BUDGET_STEPS], 3);
	ck_assert_uint_eq(b.limit[BUDGET_WALL_MS], 5);
	for (enum budget_kind kind = BUDGET_CPU_MS; kind < BUDGET_KINDS; kind++)
		ck_assert_uint_eq(b.limit[kind], BUDGET_NONE);
	o.limit[BUDGET_COST_PICO] = 7;
	ck_assert_int_eq(budget_make(&o, "m", &b, &e), -EINVAL);
	ck_assert_ptr_nonnull(strstr(e.text, "give --prices"));
	o.prices = "/no/such/file";
	ck_assert_int_eq(budget_make(&o, NULL, &b, &e), -EINVAL);
	ck_assert_ptr_nonnull(strstr(e.text, "give --model-name"));
	ck_assert_int_eq(budget_make(&o, "m", &b, &e), -ENOENT);
	ck_assert_ptr_nonnull(strstr(e.text, "/no/such/file"));
}
END_TEST

static const struct {
	const char *text;
	int r;
	uint64_t bytes;
} sizes[] = {
	{ "0", 0, 0 },
	{ "900", 0, 900 },
	{ "64K", 0, 65536 },
	{ "3M", 0, 3 << 20 },
	{ "2G", 0, (uint64_t)2 << 30 },
	{ "1T", 0, (uint64_t)1 << 40 },
	{ "1.5K", 0, 1536 },
	{ "0.0001K", -EINVAL, 0 },
	{ "16777216T", -ERANGE, 0 },
	{ "", -EINVAL, 0 },
	{ "K", -EINVAL, 0 },
	{ "1k", -EINVAL, 0 },
	{ "1KB", -EINVAL, 0 },
	{ "-1", -EINVAL, 0 },
};

START_TEST(sizes_are_read)
{
	uint64_t bytes = 0;

	ck_assert_int_eq(units_parse_size(sizes[_i].text, &bytes), sizes[_i].r);
	ck_assert_uint_eq(bytes, sizes[_i].r < 0 ? 0 : sizes[_i].bytes);
}
END_TEST

static const struct {
	const char *text;
	int r;
	uint64_t pico;
} amounts[] = {
	{ "5", 0, (uint64_t)5 * DOLLAR },
	{ "0.25", 0, DOLLAR / 4 },
	{ "0.000000000001", 0, 1 },
	{ "1000000", 0, (uint64_t)1000000 * DOLLAR },
	{ "1000001", -EINVAL, 0 },
	{ "0.0000000000001", -EINVAL, 0 },
	{ "0", -EINVAL, 0 },
	{ "0.0", -EINVAL, 0 },
	{ "1.", -EINVAL, 0 },
	{ ".5", -EINVAL, 0 },
	{ "$5", -EINVAL, 0 },
	{ "", -EINVAL, 0 },
};

START_TEST(amounts_are_read)
{
	uint64_t pico = 0;
	int r = units_parse_money(amounts[_i].text, &pico);

	ck_assert_int_eq(r, amounts[_i].r);
	if (r == 0)
		ck_assert_uint_eq(pico, amounts[_i].pico);
}
END_TEST

Suite *agent_budget_suite(void)
{
	Suite *s = suite_create("agent budget");
	TCase *c = tcase_create("budget");

	tcase_add_loop_test(c, each_budget_ends, 0, ROWS(kinds));
	tcase_add_test(c, steps_and_replies_are_counted);
	tcase_add_test(c, a_reply_is_no_longer_than_can_be_paid);
	tcase_add_loop_test(c, prices_are_read, 0, ROWS(prices));
	tcase_add_test(c, costs_are_held_at_the_largest_number);
	tcase_add_test(c, budgets_are_made_of_options);
	tcase_add_loop_test(c, sizes_are_read, 0, ROWS(sizes));
	tcase_add_loop_test(c, amounts_are_read, 0, ROWS(amounts));
	suite_add_tcase(s, c);
	return s;
}
