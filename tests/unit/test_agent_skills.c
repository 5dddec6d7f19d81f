/* SPDX-License-Identifier: MIT */
/*
 * test_agent_skills.c - saved functions: names, the digest of a folder, storing at once
 */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/skills/skills.h"
#include "init/io.h"
#include "tests/unit/suites.h"

START_TEST(names_are_plain)
{
	static const char *const good[] = { "a.py",     "mean.py", "f2.py",  "a_b.py",
					    "match.py", "json.py", "def_.py" };
	static const char *const bad[] = {
		"",         ".py",        "a",       "A.py",        "_a.py", "1a.py",
		"a-b.py",   "a.b.py",     "a/b.py",  "a.py/",       "a.pyc", "a.py ",
		"a b.py",   "a\n.py",     "../a.py", "\xc3\xa9.py", "a.PY",  "..",
		"a\xff.py", "__init__.py"
	};
	char longest[SKILLS_NAME_MAX + sizeof("x.py")] = "";

	for (size_t i = 0; i < COUNT(good); i++)
		ck_assert_msg(skills_file_good(good[i]), "%s", good[i]);
	for (size_t i = 0; i < COUNT(bad); i++)
		ck_assert_msg(!skills_file_good(bad[i]), "%s", bad[i]);
	memset(longest, 'a', SKILLS_NAME_MAX + 1);
	memcpy(longest + SKILLS_NAME_MAX + 1, ".py", sizeof(".py"));
	ck_assert(!skills_file_good(longest));
	ck_assert(skills_file_good(longest + 1));
}
END_TEST

/* the digest of what is there now */
static const char *digest_now(const char *folder)
{
	static char hex[DIGEST_HEX];
	struct jail_binds binds = { .count = 0 };
	cleanup_text struct text want = { 0 };
	struct err e = { 0 };
	uint64_t bytes = 0;
	int fd = skills_bind(folder, &binds, NULL, hex, &bytes, &e);

	ck_assert_msg(fd >= 0, "%s", e.text);
	text_printf(&want, "%s:/work/skills", folder);
	ck_assert_uint_eq(binds.count, 1);
	ck_assert_str_eq(binds.list[0], text_string(&want));
	jail_binds_free(&binds);
	io_close_fd(&fd);
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

#define STORERS 4
#define EACH 20

static const struct text source = { .bytes = (char[]){ "one" }, .length = 3 };

static int open_folder(const char *folder)
{
	return open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int count_files(const char *folder, bool whole)
{
	DIR *dir = opendir(folder);
	const struct dirent *entry;
	int count = 0;

	ck_assert_ptr_nonnull(dir);
	while ((entry = readdir(dir))) {
		struct stat st;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		ck_assert_int_eq(
			fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW), 0);
		if (whole) {
			ck_assert(skills_file_good(entry->d_name));
			ck_assert_int_eq(st.st_size, (off_t)source.length);
			ck_assert_uint_eq(st.st_mode & 0777, 0644);
		}
		count++;
	}
	(void)closedir(dir);
	return count;
}

/* each stores its own, and one that all of them want; its status is how often that was
 * so */
static int store_many(const char *folder, int who)
{
	struct skills s = { .fd = open_folder(folder) };
	struct err e = { 0 };
	int got = 0;

	MUST(s.fd >= 0);
	(void)umask(077);
	for (int i = 0; i < EACH; i++) {
		char name[40];

		(void)snprintf(name, sizeof(name), "own%d_%d.py", who, i);
		MUST(skills_store(&s, name, &source, &e) == 0);
		(void)snprintf(name, sizeof(name), "all%d.py", i);

		int r = skills_store(&s, name, &source, &e);

		MUST(r == 0 || r == -EEXIST);
		got += r == 0;
	}
	io_close_fd(&s.fd);
	return got;
}

START_TEST(storing_at_once_spoils_nothing)
{
	const char *folder = unit_folder();
	int got = 0, status;

	for (int who = 0; who < STORERS; who++)
		if (fork() == 0)
			_exit(store_many(folder, who));
	for (int who = 0; who < STORERS; who++) {
		ck_assert_int_gt(wait(&status), 0);
		ck_assert(WIFEXITED(status));
		got += WEXITSTATUS(status);
	}
	ck_assert_int_eq(got, EACH);
	ck_assert_int_eq(count_files(folder, true), EACH * (STORERS + 1));
}
END_TEST

START_TEST(storing_that_fails_leaves_nothing)
{
	const char *folder = unit_folder();
	struct skills s = { .fd = open_folder(folder) };
	struct err e = { 0 };
	char to[16];

	/* neither what a link points to nor the link is touched */
	ck_assert_int_eq(symlink("elsewhere", unit_path(folder, "a.py")), 0);
	ck_assert_int_eq(skills_store(&s, "a.py", &source, &e), -EEXIST);
	ck_assert_str_eq(e.text, "a file of that name is there already");
	ck_assert_int_eq(readlink(unit_path(folder, "a.py"), to, sizeof(to)), 9);
	ck_assert_int_eq(count_files(folder, false), 1);
	ck_assert_int_eq(skills_store(&s, "no/such.py", &source, &e), -ENOENT);
	ck_assert_int_eq(count_files(folder, false), 1);
	ck_assert_int_eq(unlink(unit_path(folder, "a.py")), 0);
	ck_assert_int_eq(rmdir(folder), 0);
	ck_assert_int_eq(skills_store(&s, "a.py", &source, &e), -ENOENT);
	ck_assert_int_eq(mkdir(folder, 0755), 0);
	io_close_fd(&s.fd);
}
END_TEST

Suite *agent_skills_suite(void)
{
	Suite *s = suite_create("agent skills");
	TCase *t = tcase_create("skills");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, names_are_plain);
	tcase_add_test(t, digest_is_of_names_and_bytes);
	tcase_add_test(t, storing_at_once_spoils_nothing);
	tcase_add_test(t, storing_that_fails_leaves_nothing);
	suite_add_tcase(s, t);
	return s;
}
