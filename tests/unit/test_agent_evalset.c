/* SPDX-License-Identifier: MIT */
/*
 * test_agent_evalset.c - sets of tasks
 */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/eval/evalbook.h"
#include "agent/eval/evalset.h"
#include "agent/judge/harness.h"
#include "tests/unit/suites.h"

#define TASK_OF(id)                                                                      \
	"{\"task_id\":\"" id "\",\"prompt\":\"def f():\\n\",\"entry_point\":\"f\","      \
	"\"canonical_solution\":\"    return 1\\n\",\"test\":\"def check(c): pass\\n\"}"
#define TASK TASK_OF("T/0")

START_TEST(tasks_are_read)
{
	struct evalset set = { 0 };
	struct text input = { 0 };
	struct err e = { 0 };

	ck_assert_int_eq(evalset_add(&set, TASK, strlen(TASK), &e), 0);
	ck_assert_uint_eq(set.count, 1);
	ck_assert_str_eq(set.tasks[0].id, "T/0");
	ck_assert_int_eq(
		evalset_input(&set.tasks[0], EVAL_CANONICAL, "SECRET", &input, &e), 0);
	ck_assert_ptr_nonnull(strstr(input.bytes, "def f():\\n    return 1\\n"));
	/* the size in front covers all but the secret's line */
	ck_assert_uint_eq(strtoul(input.bytes, NULL, 10),
			  input.length - strcspn(input.bytes, "\n") - 1 - 7);
	text_clear(&input);
	ck_assert_int_eq(evalset_input(&set.tasks[0], EVAL_BROKEN, "SECRET", &input, &e),
			 0);
	ck_assert_ptr_nonnull(strstr(input.bytes, "def f():\\n    pass\\n"));
	ck_assert_ptr_null(strstr(input.bytes, "return 1"));
	text_free(&input);
	evalset_free(&set);
}
END_TEST

static const struct {
	const char *line;
	const char *says;
} bad[] = {
	{ "", "not a JSON object" },
	{ "[]", "not a JSON object" },
	{ "{}", "\"task_id\"" },
	{ "{\"task_id\":7}", "\"task_id\"" },
	{ "{\"task_id\":\"x\",\"prompt\":\"\",\"entry_point\":\"f\","
	  "\"canonical_solution\":\"\"}",
	  "\"test\"" },
};

START_TEST(bad_tasks_are_refused)
{
	struct evalset set = { 0 };
	struct err e = { 0 };

	ck_assert_int_eq(evalset_add(&set, bad[_i].line, strlen(bad[_i].line), &e),
			 -EINVAL);
	ck_assert_msg(strstr(e.text, bad[_i].says) != NULL, "%s", e.text);
	ck_assert_uint_eq(set.count, 0);
	evalset_free(&set);
}
END_TEST

static int read_set(const char *bytes, size_t length, struct evalset *set, struct err *e)
{
	return evalset_read(unit_file(unit_folder(), "set", bytes, length), set, e);
}

START_TEST(files_are_read_by_line)
{
	static const char good[] = TASK "\n\n" TASK_OF("T/1") "\r\n" TASK_OF("T");
	static const char third[] = TASK "\n" TASK_OF("T/1") "\n{\n";
	static const char twice[] = TASK "\n" TASK_OF("T/1") "\n" TASK;
	struct evalset set = { 0 };
	struct err e = { 0 };

	ck_assert_int_eq(read_set(good, sizeof(good) - 1, &set, &e), 0);
	ck_assert_uint_eq(set.count, 3);
	evalset_free(&set);
	ck_assert_int_lt(read_set(third, sizeof(third) - 1, &set, &e), 0);
	ck_assert_ptr_nonnull(strstr(e.text, ":3: not a JSON object"));
	evalset_free(&set);
	ck_assert_int_eq(read_set(twice, sizeof(twice) - 1, &set, &e), -EEXIST);
	ck_assert_ptr_nonnull(strstr(e.text, ":3: there is a task T/0 already"));
	evalset_free(&set);
	ck_assert_int_lt(read_set("\n\n", 2, &set, &e), 0);
	ck_assert_ptr_nonnull(strstr(e.text, "holds no task"));
	evalset_free(&set);
	ck_assert_int_lt(read_set("\x1f\x8b\x08", 3, &set, &e), 0);
	ck_assert_ptr_nonnull(strstr(e.text, "zcat"));
	evalset_free(&set);
}
END_TEST

START_TEST(harness_is_whole)
{
	ck_assert_ptr_nonnull(strstr(harness_source, "\"\"\"Judge one solution"));
	ck_assert_str_eq(harness_source + strlen(harness_source) - 8, "\nmain()\n");
}
END_TEST

/* 1 - C(n-c, k) / C(n, k), by the logarithms of factorials */
static double reference(unsigned int n, unsigned int c, unsigned int k)
{
	if (n - c < k)
		return 1;
	return 1 - exp(lgamma(n - c + 1.0) - lgamma(n - c - k + 1.0) - lgamma(n + 1.0) +
		       lgamma(n - k + 1.0));
}

START_TEST(pass_at_k_is_what_it_should_be)
{
	static const unsigned int numbers[] = { 1, 2, 3, 7, 100, 999, 1000 };
	struct eval_task task = { .id = NULL };
	struct evalset set = { .tasks = &task, .count = 1 };
	struct evalbook b = { .set = &set };
	const size_t count = sizeof(numbers) / sizeof(numbers[0]);

	b.samples = calloc(EVALBOOK_SAMPLES_MAX, sizeof(*b.samples));
	ck_assert_ptr_nonnull(b.samples);
	for (size_t i = 0; i < count; i++) {
		unsigned int n = b.each = numbers[i];

		for (unsigned int c = 0; c <= n; c += 1 + n / 20) {
			for (unsigned int s = 0; s < n; s++)
				b.samples[s].result.passed = s < c;
			for (size_t j = 0; j < count && numbers[j] <= n; j++)
				ck_assert_double_eq_tol(evalbook_pass_at(&b, numbers[j]),
							reference(n, c, numbers[j]),
							1e-9);
		}
	}
	free(b.samples);
}
END_TEST

Suite *agent_evalset_suite(void)
{
	Suite *s = suite_create("agent evalset");
	TCase *c = tcase_create("evalset");

	tcase_add_test(c, tasks_are_read);
	tcase_add_loop_test(c, bad_tasks_are_refused, 0,
			    (int)(sizeof(bad) / sizeof(bad[0])));
	tcase_add_test(c, files_are_read_by_line);
	tcase_add_test(c, harness_is_whole);
	tcase_add_test(c, pass_at_k_is_what_it_should_be);
	suite_add_tcase(s, c);
	return s;
}
