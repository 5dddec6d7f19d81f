/* SPDX-License-Identifier: MIT */
/*
 * test_agent_tests.c - --tests: which files it takes, and what a reply without code is
 * then
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/loop/loop.h"
#include "agent/loop/prompt.h"
#include "tests/unit/suites.h"
#include "tests/unit/test_agent_loops.h"

START_TEST(a_reply_without_code_has_its_words)
{
	const bool judged = _i & 1, tools = _i & 2;
	const struct jail_options jail = { .rootfs = "core" };
	struct model_plan model_plan = { .tools = tools };
	struct loop *l = loop_of(&jail, &model_plan);
	struct text out = { 0 };

	l->tests.count = judged;
	prompt_system(l, &out);
	ck_assert(judged == !strstr(out.bytes, "is your final answer"));
	ck_assert(judged == !!strstr(out.bytes, "the tests are run then"));
	/* fences are not told of where calls are taken */
	ck_assert(tools == !strstr(out.bytes, "without a code block"));
	text_free(&out);
	free(l->task);
	free(l);
}
END_TEST

static const struct {
	const char *path, *refused; /* words of the refusal */
} refusals[] = {
	{ "/no/such.py", "/no/such.py" },
	{ "/dev/null", "--tests: /dev/null is not a regular file" },
	{ "README.md", "can be imported" },
};

START_TEST(other_files_are_refused)
{
	const struct opt_list paths = { .items = { refusals[_i].path }, .count = 1 };
	struct tests *t = calloc(1, sizeof(*t));
	struct jail_binds b = { 0 };
	struct err e = { 0 };

	ck_assert_ptr_nonnull(t);
	ck_assert_int_lt(tests_open(t, &paths, &b, &e), 0);
	ck_assert_ptr_nonnull(strstr(e.text, refusals[_i].refused));
	tests_close(t);
	jail_binds_free(&b);
	free(t);
}
END_TEST

static const struct {
	const char *names[2];
	size_t bound;
	int r;
} kinds[] = {
	{ { "test_a.py", "test_b.py" }, 2, 0 },
	{ { "a.json", "b.jsonl" }, 0, 0 }, /* no jail of the model's has them */
	{ { "test_a.py", "test_a.py" }, 1, -EEXIST },
	{ { "test_a.py", "a.json" }, 1, -EINVAL },
	{ { "a.json", "test_a.py" }, 0, -EINVAL },
	{ { "a.json", "a.txt" }, 0, -EINVAL },
};

START_TEST(tests_are_bound_and_kept_open)
{
	struct opt_list given = { .count = 2 };
	struct tests *t = calloc(1, sizeof(*t));
	struct jail_binds b = { 0 };
	struct err e = { 0 };
	char folder[] = "/tmp/stepjail-unit-XXXXXX";
	char paths[2][64];

	ck_assert_ptr_nonnull(t);
	ck_assert_ptr_nonnull(mkdtemp(folder));
	for (int i = 0; i < 2; i++) {
		(void)snprintf(paths[i], sizeof(paths[i]), "%s/%s", folder,
			       kinds[_i].names[i]);

		int fd = open(paths[i], O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

		ck_assert_int_ge(fd, 0);
		(void)close(fd);
		given.items[i] = paths[i];
	}
	ck_assert_int_eq(tests_open(t, &given, &b, &e), kinds[_i].r);
	ck_assert_uint_eq(b.count, kinds[_i].bound);
	if (b.count)
		ck_assert_ptr_nonnull(strstr(b.list[0], ":/work/tests/test_a.py"));
	ck_assert_uint_eq(strlen(t->files[0].hex), DIGEST_HEX - 1);
	tests_close(t);
	jail_binds_free(&b);
	free(t);
	for (int i = 0; i < 2; i++)
		(void)unlink(paths[i]);
	(void)rmdir(folder);
}
END_TEST

Suite *agent_tests_suite(void)
{
	Suite *s = suite_create("agent tests");
	TCase *c = tcase_create("tests");

	tcase_add_loop_test(c, a_reply_without_code_has_its_words, 0, 4);
	tcase_add_loop_test(c, other_files_are_refused, 0, (int)COUNT(refusals));
	tcase_add_loop_test(c, tests_are_bound_and_kept_open, 0, (int)COUNT(kinds));
	suite_add_tcase(s, c);
	return s;
}
