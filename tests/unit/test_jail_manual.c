/* SPDX-License-Identifier: MIT */
/*
 * test_jail_manual.c - --help and the manual page come out of the table, all of it
 *
 * The page is what mkmanual.c has made, in the folder where all is built.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jail/plan/option.h"
#include "jail/plan/option_row.h"
#include "jail/watch/outcome.h"
#include "tests/unit/suites.h"

static char *text;

static void take_help(bool serve)
{
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	ck_assert_ptr_nonnull(out);
	option_print_help(out, serve);
	ck_assert_int_eq(fclose(out), 0);
}

static void take_page(void)
{
	FILE *page = fopen("build/stepjail.1", "re");
	size_t size = 0;

	ck_assert_ptr_nonnull(page);
	ck_assert_int_gt(getdelim(&text, &size, '\0', page), 0);
	(void)fclose(page);
}

static void free_text(void)
{
	free(text);
	text = NULL;
}

static unsigned int times(const char *what)
{
	unsigned int n = 0;

	for (const char *at = text; (at = strstr(at, what)); at++)
		n++;
	return n;
}

static void ck_default_is_shown(const struct option_row *row, const char *before,
				const char *after)
{
	char number[VALUE_TEXT_MAX], want[512];
	const char *initial = row->initial == NO_LIMIT
				      ? "unlimited"
				      : value_print(row->kind, row->initial, number);

	(void)snprintf(want, sizeof(want), "%s%s%s", before, initial, after);
	ck_assert_msg(strstr(text, want) != NULL, "--%s: no '%s'", row->name, want);
}

/* the lines that were broken to fit are one again */
static void join_lines(void)
{
	static const char fold[] = "\n                          ";
	size_t n = sizeof(fold) - 1;

	for (char *at = text; (at = strstr(at, fold));) {
		*at = ' ';
		memmove(at + 1, at + n, strlen(at + n) + 1);
	}
}

START_TEST(help_has_every_option)
{
	take_help(true);
	for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1)
		ck_assert_msg(end - line <= 80, "%.*s", (int)(end - line), line);
	join_lines();
	for (size_t i = 0; i < option_row_count; i++) {
		char want[512];

		/* the value of one that may stand alone is never a word of its own */
		(void)snprintf(want, sizeof(want),
			       option_rows[i].bare ? "  --%s[=%s] " : "  --%s %s ",
			       option_rows[i].name, option_rows[i].arg);
		ck_assert_msg(times(want) == 1, "%s", want);
		ck_assert_msg(times(option_rows[i].help) == 1, "%s", want);
		(void)snprintf(want, sizeof(want), "%s (", option_rows[i].help);
		if (option_rows[i].is_limit)
			ck_default_is_shown(&option_rows[i], want, ")");
	}
	ck_assert_uint_eq(times("  --policy FILE "), 1);
	ck_assert_uint_eq(times("  --help "), 1);
}
END_TEST

/* Options of serve are hidden where they are of no use. */
START_TEST(help_of_run_has_no_option_of_serve)
{
	size_t groups = 0;

	take_help(false);
	for (size_t i = 0; i < option_row_count; i++) {
		const struct option_group *group = option_group(&option_rows[i]);
		char want[64];

		(void)snprintf(want, sizeof(want), "\n  --%s", option_rows[i].name);
		ck_assert_msg(!times(want) == group->serve ||
				      strcmp(option_rows[i].name, "bind") == 0,
			      "%s", want);
		groups += strcmp(group->first, option_rows[i].name) == 0;
	}
	for (const struct option_group *group = option_groups; group->first;
	     group++, groups--)
		ck_assert_uint_eq(times(group->title), !group->serve);
	ck_assert_uint_eq(groups, 0);
}
END_TEST

START_TEST(the_manual_has_every_option_and_verdict)
{
	take_page();
	for (size_t i = 0; i < option_row_count; i++) {
		char want[512];

		(void)snprintf(
			want, sizeof(want),
			option_rows[i].bare ? "\n.It Fl Fl %s Ns Op = Ns Ar %s\n%s.\n"
					    : "\n.It Fl Fl %s Ar %s\n%s.\n",
			option_rows[i].name, option_rows[i].arg, option_rows[i].help);
		ck_assert_msg(times(want) == 1, "%s", want);
		(void)snprintf(want, sizeof(want),
			       "\n%s.\nDefault: ", option_rows[i].help);
		if (option_rows[i].is_limit)
			ck_default_is_shown(&option_rows[i], want, ".\n");
	}
	ck_assert_uint_eq(times("\n.It Fl Fl policy Ar FILE\n"), 1);
	ck_assert_uint_eq(times("\n.It Fl Fl help\n"), 1);
	ck_assert_uint_eq(times("\n@"), 0);
	for (size_t i = 0; i < VERDICT_COUNT; i++)
		ck_assert_msg(strstr(text, verdict_names[i]) != NULL, "%s",
			      verdict_names[i]);
}
END_TEST

/* a blank at a line's end and a line that begins with a quote are mdoc's pitfalls */
START_TEST(the_manual_is_clean_mdoc)
{
	take_page();
	ck_assert_int_eq(strncmp(text, ".Dd ", 4), 0);
	ck_assert_uint_eq(times(" \n"), 0);
	ck_assert_uint_eq(times("\n'"), 0);
	ck_assert_uint_eq(times("\n\n"), 0);
	ck_assert_uint_eq(times("\t"), 0);
	ck_assert_uint_eq(times("\n.Bl "), times("\n.El\n"));
	for (const char *at = text; *at; at++)
		HOLDS((*at >= ' ' && *at < 0x7f) || *at == '\n');
}
END_TEST

Suite *jail_manual_suite(void)
{
	Suite *s = suite_create("jail manual");
	TCase *c = tcase_create("manual");

	tcase_add_checked_fixture(c, NULL, free_text);
	tcase_add_test(c, help_has_every_option);
	tcase_add_test(c, help_of_run_has_no_option_of_serve);
	tcase_add_test(c, the_manual_has_every_option_and_verdict);
	tcase_add_test(c, the_manual_is_clean_mdoc);
	suite_add_tcase(s, c);
	return s;
}
