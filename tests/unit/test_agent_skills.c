/* SPDX-License-Identifier: MIT */
/*
 * test_agent_skills.c - the digest of a folder of functions
 */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/skills/skills.h"
#include "tests/unit/suites.h"

/* the digest of what is there now */
static const char *digest_now(const char *folder)
{
	static char hex[DIGEST_HEX];
	struct jail_binds binds = { .count = 0 };
	cleanup_text struct text want = { 0 };
	struct err e = { 0 };
	int r = skills_bind(folder, &binds, NULL, hex, &e);

	ck_assert_msg(r == 0, "%s", e.text);
	text_printf(&want, "%s:/work/skills", folder);
	ck_assert_uint_eq(binds.count, 1);
	ck_assert_str_eq(binds.list[0], text_string(&want));
	jail_binds_free(&binds);
	return hex;
}

START_TEST(digest_is_of_names_and_bytes)
{
	const char *folder = unit_folder();
	char empty[DIGEST_HEX], one[DIGEST_HEX];

	(void)snprintf(empty, sizeof(empty), "%s", digest_now(folder));
	(void)unit_file(folder, "index.jsonl", "x", 1);
	(void)unit_file(folder, ".stepjail-0123456789abcdef.part", "x", 1);
	ck_assert_int_eq(mkdir(unit_path(folder, "__pycache__"), 0755), 0);
	ck_assert_str_eq(digest_now(folder), empty);
	(void)unit_file(folder, "a.py", "one", 3);
	(void)snprintf(one, sizeof(one), "%s", digest_now(folder));
	ck_assert_str_ne(one, empty);
	(void)unit_file(folder, "a.py", "onf", 3);
	ck_assert_str_ne(digest_now(folder), one);
	(void)unit_file(folder, "a.py", "one", 3);
	ck_assert_str_eq(digest_now(folder), one);
	ck_assert_int_eq(rename(unit_path(folder, "a.py"), unit_path(folder, "b.py")), 0);
	ck_assert_str_ne(digest_now(folder), one);
	ck_assert_int_eq(rename(unit_path(folder, "b.py"), unit_path(folder, "a.py")), 0);
	/* a link is not followed, and a pipe not waited for */
	ck_assert_int_eq(symlink("a.py", unit_path(folder, "b.py")), 0);
	ck_assert_str_ne(digest_now(folder), one);
	ck_assert_int_eq(unlink(unit_path(folder, "b.py")), 0);
	ck_assert_int_eq(mkfifo(unit_path(folder, "b.py"), 0600), 0);
	ck_assert_str_ne(digest_now(folder), one);
}
END_TEST

Suite *agent_skills_suite(void)
{
	Suite *s = suite_create("agent skills");
	TCase *t = tcase_create("skills");

	tcase_add_test(t, digest_is_of_names_and_bytes);
	suite_add_tcase(s, t);
	return s;
}
