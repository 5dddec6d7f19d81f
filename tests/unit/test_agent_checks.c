/* SPDX-License-Identifier: MIT */
/*
 * test_agent_checks.c - the table of checks, and how a check ends
 */
#include <check.h>
#include <string.h>

#include "agent/judge/checks.h"
#include "tests/unit/suites.h"

START_TEST(table_is_complete)
{
	for (size_t i = 0; i < CHECKS_KINDS; i++) {
		const struct checks_row *row = &checks_rows[i];

		ck_assert(row->name && row->refused);
		ck_assert(strncmp(row->option, "--check-", 8) == 0);
		ck_assert_str_eq(row->option + 8, row->name);
		/* what is refused to be sent is nothing that a model is told of */
		ck_assert_int_eq(row->then == NULL, i == CHECKS_PROMPT);
		for (size_t k = 0; k < i; k++)
			ck_assert_str_ne(row->name, checks_rows[k].name);
	}
}
END_TEST

START_TEST(endings_are_words)
{
	cleanup_text struct text all = { 0 };

	for (enum verdict v = 0; v < VERDICT_COUNT; v++) {
		const struct verdict_facts f = { .verdict = v,
						 .code = 3,
						 .signal = 11,
						 .limit_ms = 500,
						 .syscall = "chroot" };
		cleanup_text struct text one = { 0 };

		checks_ending(&f, &one);
		ck_assert_msg(one.length && !strpbrk(one.bytes, "{}"), "%d: %s", (int)v,
			      text_string(&one));
		ck_assert(!strstr(text_string(&all), text_string(&one)));
		text_printf(&all, "%s\n", text_string(&one));
	}
	ck_assert(strstr(text_string(&all), "exit status 3\n"));
	ck_assert(strstr(text_string(&all), "signal 11 (SIGSEGV)"));
	ck_assert(strstr(text_string(&all), "killed after 500 ms "));
	ck_assert(strstr(text_string(&all), "(chroot)"));
}
END_TEST

Suite *agent_checks_suite(void)
{
	Suite *s = suite_create("agent checks");
	TCase *t = tcase_create("checks");

	tcase_add_test(t, table_is_complete);
	tcase_add_test(t, endings_are_words);
	suite_add_tcase(s, t);
	return s;
}
