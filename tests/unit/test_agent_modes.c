/* SPDX-License-Identifier: MIT */
/*
 * test_agent_modes.c - ways of working: rows, options, words around code, what is an
 * answer
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
#include "init/wire.h"
#include "tests/unit/suites.h"
#include "tests/unit/test_agent_loops.h"

START_TEST(every_way_has_its_words)
{
	const struct mode *mode = &mode_rows[_i];

	for (int k = 0; k < _i; k++)
		ck_assert_str_ne(mode->name, mode_rows[k].name);
	for (int tools = 0; tools < 2; tools++) {
		const struct jail_options jail = { .rootfs = "core" };
		struct model_plan model_plan = { .tools = tools };
		struct loop *l = loop_of((enum mode_kind)_i, &jail, &model_plan);
		struct text out = { 0 };

		prompt_system(l, &out);
		ck_assert_ptr_nonnull(strstr(out.bytes, mode->ends[tools]));
		ck_assert_ptr_nonnull(strstr(out.bytes, mode->begin));
		/* fences are not told of where calls are taken */
		ck_assert(tools == !strstr(out.bytes, "without a code block"));
		text_free(&out);
		free(l->task);
		free(l);
	}
}
END_TEST

static const struct {
	const char *name;
	struct mode_options o;
	bool stateless;
	const char *refused; /* words of the refusal, or NULL */
} plans[] = {
	{ "codeact", { .mode = MODE_CODEACT }, false, NULL },
	{ "codeact stateless", { .mode = MODE_CODEACT }, true, NULL },
	{ "program", { .mode = MODE_PROGRAM }, false, NULL },
	{ "tests of nothing", { .mode = MODE_TESTS }, false, "needs --tests" },
	{ "tests elsewhere",
	  { .mode = MODE_PROGRAM, .tests = { .items = { "a.py" }, .count = 1 } },
	  false,
	  "--tests belongs" },
	{ "no such file",
	  { .mode = MODE_TESTS, .tests = { .items = { "/no/such.py" }, .count = 1 } },
	  false,
	  "/no/such.py" },
	{ "a device",
	  { .mode = MODE_TESTS, .tests = { .items = { "/dev/null" }, .count = 1 } },
	  false,
	  "--tests: /dev/null is not a regular file" },
	{ "no module",
	  { .mode = MODE_TESTS, .tests = { .items = { "README.md" }, .count = 1 } },
	  false,
	  "can be imported" },
};

START_TEST(options_go_together)
{
	struct mode_state *w = calloc(1, sizeof(*w));
	struct jail_binds b = { 0 };
	struct err e = { 0 };
	struct session_plan p = { .binds = &b, .stateless = plans[_i].stateless };

	ck_assert_ptr_nonnull(w);

	int r = mode_plan(w, &plans[_i].o, &p, &e);

	ck_assert_msg((r < 0) == !!plans[_i].refused, "%s", plans[_i].name);
	if (plans[_i].refused)
		ck_assert_ptr_nonnull(strstr(e.text, plans[_i].refused));
	else
		ck_assert(p.stateless == (plans[_i].stateless || w->mode->programs));
	mode_free(w);
	jail_binds_free(&b);
	free(w);
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
	struct mode_options o = { .mode = MODE_TESTS, .tests.count = 2 };
	struct mode_state *w = calloc(1, sizeof(*w));
	struct jail_binds b = { 0 };
	struct session_plan p = { .binds = &b };
	struct err e = { 0 };
	char folder[] = "/tmp/stepjail-unit-XXXXXX";
	char paths[2][64];

	ck_assert_ptr_nonnull(w);
	ck_assert_ptr_nonnull(mkdtemp(folder));
	for (int i = 0; i < 2; i++) {
		(void)snprintf(paths[i], sizeof(paths[i]), "%s/%s", folder,
			       kinds[_i].names[i]);

		int fd = open(paths[i], O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

		ck_assert_int_ge(fd, 0);
		(void)close(fd);
		o.tests.items[i] = paths[i];
	}
	ck_assert_int_eq(mode_plan(w, &o, &p, &e), kinds[_i].r);
	ck_assert_uint_eq(b.count, kinds[_i].bound);
	if (b.count)
		ck_assert_ptr_nonnull(strstr(b.list[0], ":/work/tests/test_a.py"));
	ck_assert_uint_eq(strlen(w->tests.files[0].hex), DIGEST_HEX - 1);
	mode_free(w);
	jail_binds_free(&b);
	free(w);
	for (int i = 0; i < 2; i++)
		(void)unlink(paths[i]);
	(void)rmdir(folder);
}
END_TEST

static const struct {
	const char *printed;
	size_t total; /* 0: as printed */
	enum verdict verdict;
	int code;
	const char *answer; /* NULL: none */
	const char *told;
} programs[] = {
	{ "42\n", 0, VERDICT_COMPLETED, 0, "42\n", "DONE" },
	{ "42\n", 0, VERDICT_EXITED, 0, "42\n", "DONE" },
	{ "42\n", 0, VERDICT_EXITED, 3, "old", "last program" },
	{ "42\n", 0, VERDICT_EXCEPTION, 0, "old", "last program" },
	{ "42\n", 0, VERDICT_WALL_TIMEOUT, 0, "old", "last program" },
	{ " \n", 0, VERDICT_COMPLETED, 0, NULL, "printed nothing" },
	{ "", 0, VERDICT_COMPLETED, 0, NULL, "printed nothing" },
	{ "42\n", 4, VERDICT_COMPLETED, 0, NULL, "cut off" },
	{ "\xff\n", 0, VERDICT_COMPLETED, 0, NULL, "UTF-8" },
};

START_TEST(program_answers_with_its_output)
{
	struct loop *l = calloc(1, sizeof(*l));
	struct mode_state *w = l ? &l->work : NULL;
	struct step *step = l ? &l->step : NULL;
	struct text told = { 0 }, answer = { 0 };
	size_t length = strlen(programs[_i].printed);

	ck_assert_ptr_nonnull(l);
	text_puts(&w->output, "old");
	mode_heard(w, WIRE_ERR, "err", 3);
	mode_heard(w, WIRE_OUT, programs[_i].printed, length);
	step->out.total = programs[_i].total ? programs[_i].total : length;
	step->facts.verdict = programs[_i].verdict;
	step->facts.code = programs[_i].code;
	program_ran(l, &told);
	ck_assert_ptr_nonnull(strstr(told.bytes, programs[_i].told));
	ck_assert_int_eq(program_claim(l, &answer), programs[_i].answer != NULL);
	if (programs[_i].answer)
		ck_assert_str_eq(text_string(&answer), programs[_i].answer);
	else
		ck_assert_ptr_nonnull(strstr(l->complaint.bytes, "own words"));
	ck_assert_uint_eq(w->printed.length, 0);
	text_free(&told);
	text_free(&answer);
	text_free(&l->complaint);
	mode_free(w);
	free(l);
}
END_TEST

Suite *agent_modes_suite(void)
{
	Suite *s = suite_create("agent modes");
	TCase *c = tcase_create("ways");

	tcase_add_loop_test(c, every_way_has_its_words, 0, MODE_COUNT);
	tcase_add_loop_test(c, options_go_together, 0, (int)COUNT(plans));
	tcase_add_loop_test(c, tests_are_bound_and_kept_open, 0, (int)COUNT(kinds));
	tcase_add_loop_test(c, program_answers_with_its_output, 0, (int)COUNT(programs));
	suite_add_tcase(s, c);
	return s;
}
