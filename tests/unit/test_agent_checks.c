/* SPDX-License-Identifier: MIT */
/*
 * test_agent_checks.c - command lines as words, the table of checks, and how a check ends
 */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "agent/judge/checks.h"
#include "tests/unit/suites.h"

static const struct {
	const char *line;
	const char *words; /* each in brackets; NULL where it is refused */
	const char *why;
} lines[] = {
	{ "a", "[a]", NULL },
	{ "  a\tb\nc ", "[a][b][c]", NULL },
	{ "a 'b c' \"d e\"", "[a][b c][d e]", NULL },
	{ "'' \"\" a''b", "[][][ab]", NULL },
	{ "a\\ b \\\\ \\' \\\"", "[a b][\\]['][\"]", NULL },
	{ "'a\\' b", "[a\\][b]", NULL },
	{ "\"a\\b\\\\\\\"\\$\\`\"", "[a\\b\\\"$`]", NULL },
	{ "a\\\nb \"c\\\nd\"", "[ab][cd]", NULL },
	{ "$HOME `x` * ? ~ | ; & > < ( ) #",
	  "[$HOME][`x`][*][?][~][|][;][&][>][<][(][)][#]", NULL },
	{ "\xc3\xa9 '\xff'", "[\xc3\xa9][\xff]", NULL },
	{ "", NULL, "is empty" },
	{ " \t\n", NULL, "is empty" },
	{ "a 'b", NULL, "quote" },
	{ "a \"b", NULL, "quote" },
	{ "a \"b\\", NULL, "quote" },
	{ "a \"b\\\"", NULL, "quote" },
	{ "a \\", NULL, "backslash" },
};

START_TEST(lines_are_split_as_by_a_shell)
{
	cleanup_split struct split w = { .count = 0 };
	cleanup_text struct text got = { 0 };
	struct err e = { 0 };
	int r = split_words(lines[_i].line, &w, "--x", &e);

	if (!lines[_i].words) {
		ck_assert_int_eq(r, -EINVAL);
		ck_assert_msg(strncmp(e.text, "--x: ", 5) == 0 &&
				      strstr(e.text, lines[_i].why),
			      "%s: %s", lines[_i].line, e.text);
		return;
	}
	ck_assert_msg(r == 0, "%s: %s", lines[_i].line, e.text);
	for (size_t i = 0; i < w.count; i++)
		text_printf(&got, "[%s]", w.words[i]);
	ck_assert_str_eq(text_string(&got), lines[_i].words);
}
END_TEST

START_TEST(words_are_counted)
{
	struct err e = { 0 };

	for (size_t n = SPLIT_WORDS_MAX; n <= SPLIT_WORDS_MAX + 1; n++) {
		cleanup_split struct split w = { .count = 0 };
		cleanup_text struct text line = { 0 };

		for (size_t i = 0; i < n; i++)
			text_puts(&line, "w ");
		ck_assert_int_eq(split_words(text_string(&line), &w, "--x", &e),
				 n > SPLIT_WORDS_MAX ? -E2BIG : 0);
		ck_assert_uint_eq(w.count, SPLIT_WORDS_MAX);
	}
}
END_TEST

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
	ck_assert(strstr(text_string(&all), "signal 11\n"));
	ck_assert(strstr(text_string(&all), "longer than 500 ms\n"));
	ck_assert(strstr(text_string(&all), "call (chroot)\n"));
}
END_TEST

Suite *agent_checks_suite(void)
{
	Suite *s = suite_create("agent checks");
	TCase *t = tcase_create("checks");

	tcase_add_loop_test(t, lines_are_split_as_by_a_shell, 0, COUNT(lines));
	tcase_add_test(t, words_are_counted);
	tcase_add_test(t, table_is_complete);
	tcase_add_test(t, endings_are_words);
	suite_add_tcase(s, t);
	return s;
}
