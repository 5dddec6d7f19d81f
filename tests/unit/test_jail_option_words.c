/* SPDX-License-Identifier: MIT */
/*
 * test_jail_option_words.c - command lines of more than one option, and where they end
 */
#include <errno.h>
#include <string.h>

#include "jail/plan/option.h"
#include "tests/unit/suites.h"

static struct plan plan;

/* for one or two words before a program */
static int parse2(const char *first, const char *second, struct err *e)
{
	/* argv has no const, but is not written to */
	char *words[] = { (char *)(uintptr_t)first, (char *)(uintptr_t)second, NULL };

	*e = (struct err){ 0 };
	return option_parse(&plan, words, e);
}

#define PARSE(e, ...) option_parse(&plan, (char *[]){ __VA_ARGS__, NULL }, (e))

/* an option that stands alone takes no next word; one that looks like its value is asked
 * about, and is a program behind "--" */
START_TEST(some_options_stand_alone)
{
	char *bare[] = { "--lock-code", "/bin/x", NULL };
	char *apart[] = { "--lock-code", "--", "no", NULL };
	struct err e;

	ck_assert_int_eq(option_parse(&plan, bare, &e), 0);
	ck_assert_int_eq(plan.lock_code, LOCK_YES);
	ck_assert_str_eq(plan.argv[0], "/bin/x");
	ck_assert_int_eq(PARSE(&e, "--rootfs", "./t", "--lock-code=no"), 0);
	ck_assert_int_eq(plan.lock_code, LOCK_NO);
	ck_assert_int_eq(PARSE(&e, "--lock-code", "no"), -EINVAL);
	ck_assert_ptr_nonnull(strstr(e.text, "--lock-code=no"));
	ck_assert_int_eq(option_parse(&plan, apart, &e), 0);
	ck_assert_str_eq(plan.argv[0], "no");
}
END_TEST

/* the static tree is locked, the one with a loader when it is warm, and another is not */
START_TEST(auto_lock_is_decided)
{
	struct err e;

	ck_assert_int_eq(PARSE(&e, "--net=none"), 0);
	ck_assert_int_eq(plan.lock_code, LOCK_YES);
	ck_assert_int_eq(PARSE(&e, "--rootfs=data"), 0);
	ck_assert_int_eq(plan.lock_code, LOCK_WARM);
	ck_assert_int_eq(PARSE(&e, "--rootfs=./data"), 0);
	ck_assert_int_eq(plan.lock_code, LOCK_NO);
	ck_assert_int_eq(PARSE(&e, "--rootfs=./core"), 0);
	ck_assert_int_eq(plan.lock_code, LOCK_NO);
	ck_assert_int_eq(PARSE(&e, "--allow-syscall=execve"), -EINVAL);
	ck_assert_ptr_nonnull(strstr(e.text, "--lock-code=no"));
	ck_assert_int_eq(PARSE(&e, "--allow-syscall=execve", "--lock-code=no"), 0);
}
END_TEST

START_TEST(repeatable_options_repeat)
{
	struct err e;

	ck_assert_int_eq(PARSE(&e, "--bind", "/a:/b", "--bind", "/a:/c", "--bind-rw",
			       "/d:/e", "--bind-rw", "/d:/f", "--env", "A=1", "--env",
			       "B=2"),
			 0);
	ck_assert_uint_eq(plan.bind_count, 4);
	ck_assert_uint_eq(plan.env_count, 5);
	/* the last entry for a place or a variable counts, whichever option says it */
	ck_assert_int_eq(PARSE(&e, "--bind", "/a:/b", "--bind-rw", "/c:/b", "--env",
			       "A=1", "--env", "A=2"),
			 0);
	ck_assert_uint_eq(plan.bind_count, 1);
	ck_assert_str_eq(plan.bind[0].src, "/c");
	ck_assert(plan.bind[0].writable);
	ck_assert_uint_eq(plan.env_count, 4);
	ck_assert_str_eq(plan.env[3], "A=2");
}
END_TEST

START_TEST(unknown_options_are_refused)
{
	static const char *const rows[] = { "--nonsense", "--",        "-",
					    "-m",         "--Memory",  "--memory2",
					    "--memor",    "--help=x",  "-memory",
					    "---memory",  "--=x",      "--policyx",
					    "--rootf=x",  "--net-none" };

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct err e;
		int r = parse2(rows[i], "64M", &e);

		if (strcmp(rows[i], "--") == 0) {
			ck_assert_int_eq(r, 0);
			continue;
		}
		ck_assert_msg(r == -EINVAL, "%s", rows[i]);
		ck_assert_ptr_nonnull(strstr(e.text, "is not an option"));
		ck_assert_int_eq(strncmp(e.text, rows[i], strlen(rows[i])), 0);
	}
}
END_TEST

START_TEST(the_nearest_option_is_named)
{
	static const struct {
		const char *word, *nearest;
	} rows[] = {
		{ "--mem", "--memory?" },
		{ "--memroy", "--memory?" },
		{ "--wall_time=1s", "--wall-time?" },
		{ "--lockcode", "--lock-code?" },
		{ "--allow-sycall", "--allow-syscall?" },
		{ "-memory", "--memory?" },
		{ "--timeout", "see --help" },
		{ "--x", "see --help" },
		{ "-", "see --help" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct err e;

		ck_assert_int_eq(parse2(rows[i].word, "64M", &e), -EINVAL);
		ck_assert_msg(strstr(e.text, rows[i].nearest) != NULL, "%s", e.text);
	}
}
END_TEST

START_TEST(the_program_starts_where_options_end)
{
	char *plain[] = { "--net", "none", "/bin/x", "--memory", "1", NULL };
	char *dashes[] = { "--net", "none", "--", "--memory", "1", NULL };
	char *twice[] = { "--", "--", "x", NULL };
	char *nothing[] = { "--net", "none", "--", NULL };
	char *empty[] = { "", "x", NULL };
	struct err e;

	ck_assert_int_eq(option_parse(&plan, plain, &e), 0);
	ck_assert_ptr_eq(plan.argv, plain + 2);
	ck_assert_uint_eq(plan.limit[LIMIT_MEMORY_BYTES], 512ULL << 20);
	ck_assert_int_eq(option_parse(&plan, dashes, &e), 0);
	ck_assert_ptr_eq(plan.argv, dashes + 3);
	/* only the first is ours */
	ck_assert_int_eq(option_parse(&plan, twice, &e), 0);
	ck_assert_ptr_eq(plan.argv, twice + 1);
	ck_assert_int_eq(option_parse(&plan, nothing, &e), 0);
	ck_assert_ptr_null(plan.argv);
	ck_assert_int_eq(option_parse(&plan, empty, &e), 0);
	ck_assert_ptr_eq(plan.argv, empty);
}
END_TEST

START_TEST(help_is_asked_for)
{
	struct err e;

	ck_assert_int_eq(parse2("--help", NULL, &e), 1);
	ck_assert_int_eq(parse2("-h", NULL, &e), 1);
	ck_assert_int_eq(PARSE(&e, "--net", "none", "--help", "--nonsense"), 1);
	ck_assert_int_eq(PARSE(&e, "--net", "host", "--help"), 1);
	/* an unknown option before it comes first; behind the program it is the
	 * program's */
	ck_assert_int_eq(PARSE(&e, "--nonsense", "--help"), -EINVAL);
	ck_assert_int_eq(PARSE(&e, "/bin/x", "--help"), 0);
}
END_TEST

START_TEST(contradictions_come_through)
{
	struct err e;

	ck_assert_int_eq(PARSE(&e, "--wall-time", "1s", "--cpu-time", "1h"), -EINVAL);
	ck_assert_int_eq(PARSE(&e, "--chdir", "/a/.."), -EINVAL);
	ck_assert_int_eq(
		PARSE(&e, "--wall-time", "1s", "--cpu-time", "1h", "--cpus", "unlimited"),
		0);
}
END_TEST

Suite *jail_option_words_suite(void)
{
	Suite *s = suite_create("jail option words");
	TCase *c = tcase_create("option words");

	tcase_add_checked_fixture(c, unit_lives_on, NULL);
	tcase_add_test(c, some_options_stand_alone);
	tcase_add_test(c, auto_lock_is_decided);
	tcase_add_test(c, repeatable_options_repeat);
	tcase_add_test(c, unknown_options_are_refused);
	tcase_add_test(c, the_nearest_option_is_named);
	tcase_add_test(c, the_program_starts_where_options_end);
	tcase_add_test(c, help_is_asked_for);
	tcase_add_test(c, contradictions_come_through);
	suite_add_tcase(s, c);
	return s;
}
