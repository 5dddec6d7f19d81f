/* SPDX-License-Identifier: MIT */
/*
 * test_jail_policy.c - policy files, good and malformed
 *
 * The fixtures lie in tests/unit/data: each *.policy file says in its first line what the
 * error must say, "# expects: TEXT", or "# expects nothing" where it is a good one.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "init/io.h"
#include "jail/plan/option.h"
#include "tests/unit/suites.h"

#define FIXTURES "tests/unit/data"
#define POLICY_BYTES_MAX 65536 /* a file must be shorter */

static struct plan plan;

static int parse_file(const char *path, struct err *e)
{
	*e = (struct err){ 0 };
	return option_parse(&plan,
			    (char *[]){ "--policy", (char *)(uintptr_t)path, NULL }, e);
}

static int parse_bytes(const char *bytes, size_t length, struct err *e)
{
	return parse_file(unit_file(unit_folder(), "policy", bytes, length), e);
}

static int parse_text(const char *text, struct err *e)
{
	return parse_bytes(text, strlen(text), e);
}

START_TEST(fixtures_do_as_they_say)
{
	DIR *folder = opendir(FIXTURES);
	unsigned int good = 0, bad = 0;

	ck_assert_msg(folder != NULL, "%s: run this from the top of the source tree",
		      FIXTURES);
	for (struct dirent *d; (d = readdir(folder));) {
		const char *path = unit_path(FIXTURES, d->d_name);
		const char *dot = strrchr(d->d_name, '.');
		char text[4096], *want;
		struct err e;

		if (!dot || strcmp(dot, ".policy") != 0)
			continue;
		ck_assert_int_gt(io_read_file_at(AT_FDCWD, path, text, sizeof(text)), 0);
		text[strcspn(text, "\r\n")] = '\0';

		int r = parse_file(path, &e);

		if (strcmp(text, "# expects nothing") == 0) {
			good++;
			ck_assert_msg(r == 0, "%s: %s", path, e.text);
			continue;
		}
		bad++;
		want = text + strlen("# expects: ");
		ck_assert_msg(strncmp(text, "# expects: ", strlen("# expects: ")) == 0,
			      "%s", path);
		ck_assert_msg(r < 0, "%s is taken", path);
		ck_assert_msg(strncmp(e.text, path, strlen(path)) == 0, "%s", e.text);
		ck_assert_msg(strstr(e.text, want) != NULL, "%s, not: %s", e.text, want);
	}
	(void)closedir(folder);
	ck_assert_uint_ge(good, 2);
	ck_assert_uint_ge(bad, 10);
}
END_TEST

START_TEST(a_good_file_fills_the_plan)
{
	struct err e;

	ck_assert_int_eq(parse_file(FIXTURES "/good.policy", &e), 0);
	ck_assert_uint_eq(plan.limit[LIMIT_WALL_MS], 2000);
	ck_assert_uint_eq(plan.limit[LIMIT_MEMORY_BYTES], 256ULL << 20);
	ck_assert_uint_eq(plan.limit[LIMIT_FILE_BYTES], NO_LIMIT);
	ck_assert_int_eq(plan.net, NET_LOOPBACK);
	ck_assert_uint_eq(plan.bind_count, 2);
	ck_assert_str_eq(plan.bind[0].src, "/srv/my data");
	ck_assert_str_eq(plan.bind[0].dst, "/work/in");
	ck_assert_str_eq(plan.env[plan.env_count - 1], "GREETING=hello # not a comment");
}
END_TEST

START_TEST(a_name_alone_stands_for_its_bare_value)
{
	struct err e;

	ck_assert_int_eq(parse_text("verify-rootfs", &e), 0);
	ck_assert_int_eq(plan.verify_rootfs, ANSWER_YES);
	ck_assert_int_eq(parse_text("verify-rootfs no\n", &e), 0);
	ck_assert_int_eq(plan.verify_rootfs, ANSWER_NO);
	ck_assert_int_eq(parse_text("require\n", &e), -EINVAL);
}
END_TEST

START_TEST(the_last_line_needs_no_newline)
{
	struct err e;

	ck_assert_int_eq(parse_text("pids 7", &e), 0);
	ck_assert_uint_eq(plan.limit[LIMIT_PIDS], 7);
	ck_assert_int_eq(parse_text("pids 8\n", &e), 0);
	ck_assert_int_eq(parse_text("\n\n  \t \n# x\n\t# y\n \t pids \t 9", &e), 0);
	ck_assert_uint_eq(plan.limit[LIMIT_PIDS], 9);
	ck_assert_int_eq(parse_text("", &e), 0);
	ck_assert_uint_eq(plan.limit[LIMIT_PIDS], 64);
}
END_TEST

START_TEST(lines_are_counted)
{
	char text[64], want[64];

	for (unsigned int line = 1; line < 40; line++) {
		struct err e;

		memset(text, '\n', sizeof(text));
		(void)snprintf(text + line - 1, sizeof(text) - line, "bogus 1");
		ck_assert_int_eq(parse_text(text, &e), -EINVAL);
		(void)snprintf(want, sizeof(want), " line %u: 'bogus' is not an option",
			       line);
		ck_assert_msg(strstr(e.text, want) != NULL, "%s", e.text);
	}
}
END_TEST

START_TEST(nul_bytes_are_refused)
{
	static const char rows[][16] = { "pids 7\0\n", "\0", "pids\0 7",
					 "# x\0y\npids 7" };
	static const size_t lengths[] = { 8, 1, 7, 12 };

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct err e;

		ck_assert_int_eq(parse_bytes(rows[i], lengths[i], &e), -EINVAL);
		ck_assert_int_eq(strncmp(e.text, "--policy: ", 10), 0);
		ck_assert_ptr_nonnull(strstr(e.text, "NUL byte"));
	}
}
END_TEST

START_TEST(files_are_bounded)
{
	char *text = malloc(POLICY_BYTES_MAX + 1);
	struct err e;

	memset(text, '\n', POLICY_BYTES_MAX + 1);
	memcpy(text + POLICY_BYTES_MAX - 7, "pids 7", 6);
	ck_assert_int_eq(parse_bytes(text, POLICY_BYTES_MAX - 1, &e), 0);
	ck_assert_uint_eq(plan.limit[LIMIT_PIDS], 7);
	ck_assert_int_eq(parse_bytes(text, POLICY_BYTES_MAX, &e), -EFBIG);
	ck_assert_int_eq(strncmp(e.text, "--policy: ", 10), 0);
	ck_assert_ptr_nonnull(strstr(e.text, "65535 bytes"));
	ck_assert_int_eq(parse_bytes(text, POLICY_BYTES_MAX + 1, &e), -EFBIG);
	free(text);
}
END_TEST

START_TEST(unreadable_files_are_named)
{
	const char *folder = unit_folder();
	struct err e;

	ck_assert_int_eq(parse_file(unit_path(folder, "missing"), &e), -ENOENT);
	ck_assert_ptr_nonnull(strstr(e.text, "missing"));
	ck_assert_int_eq(strncmp(e.text, "--policy: ", 10), 0);
	ck_assert_int_eq(parse_file(folder, &e), -EISDIR);
	ck_assert_ptr_nonnull(strstr(e.text, folder));
	ck_assert_int_eq(parse_file("", &e), -ENOENT);
}
END_TEST

START_TEST(file_and_command_line_are_one)
{
	const char *path =
		unit_file(unit_folder(), "p", "pids 7\nbind /a:/b\nenv A=1\n", 25);
	char *policy = (char *)(uintptr_t)path;
	char *mixed[] = { "--files", "9", "--policy", policy, "--bind=/c:/d", "x", NULL };
	struct err e = { 0 };

	ck_assert_int_eq(option_parse(&plan, mixed, &e), 0);
	ck_assert_uint_eq(plan.limit[LIMIT_PIDS], 7);
	ck_assert_uint_eq(plan.limit[LIMIT_FILES], 9);
	ck_assert_uint_eq(plan.bind_count, 2);
	ck_assert_ptr_eq(plan.argv, mixed + 5);
	/* the command line replaces the file, on either side of it */
	ck_assert_int_eq(option_parse(&plan,
				      (char *[]){ "--policy", policy, "--pids", "8",
						  "--env=A=2", NULL },
				      &e),
			 0);
	ck_assert_uint_eq(plan.limit[LIMIT_PIDS], 8);
	ck_assert_str_eq(plan.env[plan.env_count - 1], "A=2");
	ck_assert_int_eq(
		option_parse(&plan, (char *[]){ "--pids", "8", "--policy", policy, NULL },
			     &e),
		0);
	ck_assert_uint_eq(plan.limit[LIMIT_PIDS], 8);
	ck_assert_int_eq(
		option_parse(&plan,
			     (char *[]){ "--policy", policy, "--policy", policy, NULL },
			     &e),
		-EEXIST);
	ck_assert_str_eq(e.text, "--policy: is given twice");
}
END_TEST

START_TEST(policy_needs_a_value)
{
	struct err e;

	ck_assert_int_eq(option_parse(&plan, (char *[]){ "--policy", NULL }, &e),
			 -EINVAL);
	ck_assert_ptr_nonnull(strstr(e.text, "--policy needs a value"));
}
END_TEST

Suite *jail_policy_suite(void)
{
	Suite *s = suite_create("jail policy");
	TCase *c = tcase_create("policy");

	tcase_add_checked_fixture(c, unit_lives_on, NULL);
	tcase_add_test(c, fixtures_do_as_they_say);
	tcase_add_test(c, a_good_file_fills_the_plan);
	tcase_add_test(c, a_name_alone_stands_for_its_bare_value);
	tcase_add_test(c, the_last_line_needs_no_newline);
	tcase_add_test(c, lines_are_counted);
	tcase_add_test(c, nul_bytes_are_refused);
	tcase_add_test(c, files_are_bounded);
	tcase_add_test(c, unreadable_files_are_named);
	tcase_add_test(c, file_and_command_line_are_one);
	tcase_add_test(c, policy_needs_a_value);
	suite_add_tcase(s, c);
	return s;
}
