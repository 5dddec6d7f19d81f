/* SPDX-License-Identifier: MIT */
/*
 * test_jail_shipped.c - where init and the root trees are looked for
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jail/base/command.h"
#include "jail/launch/shipped.h"
#include "tests/unit/suites.h"

START_TEST(a_path_is_taken_as_it_is)
{
	static const char *const rows[] = { "/", "./core", "../x", "core/",
					    "/no/such/folder" };

	for (size_t i = 0; i < COUNT(rows); i++) {
		char path[PATH_MAX];
		struct err e;

		ck_assert_int_eq(shipped_root(rows[i], path, sizeof(path), &e), 0);
		ck_assert_str_eq(path, rows[i]);
	}
}
END_TEST

START_TEST(a_long_path_is_refused)
{
	char path[8];
	struct err e;

	ck_assert_int_eq(shipped_root("./45678", path, sizeof(path), &e), 0);
	ck_assert_int_eq(shipped_root("./456789", path, sizeof(path), &e), -ENAMETOOLONG);
	ck_assert_int_eq(strncmp(e.text, "rootfs: ", 8), 0);
}
END_TEST

START_TEST(an_unknown_tree_is_named)
{
	char path[PATH_MAX];
	struct err e;

	ck_assert_int_eq(shipped_root("no-such-tree", path, sizeof(path), &e), -ENOENT);
	ck_assert_ptr_nonnull(strstr(e.text, "'no-such-tree'"));
	ck_assert_ptr_nonnull(strstr(e.text, "make rootfs"));
}
END_TEST

/* a tmpfs over the folder of the running executable, for the child alone */
static bool own_the_folder(void)
{
	char path[PATH_MAX] = "";

	/* root is the host's, with all ids */
	if (geteuid() == 0)
		MUST(unshare(CLONE_NEWNS) == 0);
	else if (!unit_namespace(CLONE_NEWNS))
		return false;
	MUST(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	*strrchr(path, '/') = '\0';
	MUST(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	MUST(mount("none", path, "tmpfs", 0, "mode=0755") == 0);
	MUST(chdir(path) == 0);
	return true;
}

/* root's own alone are trusted by root; a group's right to write is enough to lose
 * that */
static int find_init(struct err *e)
{
	char path[PATH_MAX];

	return shipped_program("stepjail-init", path, sizeof(path), e);
}

static void look_at_owners(void *arg)
{
	static const struct {
		const char *path;
		mode_t mode;
		uid_t owner;
		bool group; /* the caller's own group is no other */
		const char *says;
	} rows[] = {
		{ ".", 0757, 0, false, "chmod" },
		{ ".", 0775, 0, true, "chmod" },
		{ ".", 0755, 4711, false, "uid 4711" },
		{ "stepjail-init", 0757, 0, false, "chmod go-w" },
		{ "stepjail-init", 0775, 0, true, "chmod go-w" },
		{ "stepjail-init", 0755, 4711, false, "chown root" },
		{ "rootfs", 0777, 0, false, "chmod go-w" },
		{ "rootfs/core", 0757, 0, false, "chmod go-w" },
		{ "rootfs/core", 0775, 0, true, "chmod go-w" },
		{ "rootfs/core", 0755, 4711, false, "chown root" },
	};
	bool host_root = geteuid() == 0;
	char path[PATH_MAX];

	(void)arg;
	if (!own_the_folder())
		return;
	MUST(mkdir("rootfs", 0755) == 0 && mkdir("rootfs/core", 0755) == 0);
	MUST(mknod("stepjail-init", S_IFREG | 0755, 0) == 0);
	for (size_t i = 0; i < COUNT(rows); i++) {
		bool tree = strncmp(rows[i].path, "rootfs", 6) == 0;
		struct err e = { 0 };
		int r;

		if (!host_root && (rows[i].owner || rows[i].group))
			continue;
		MUST(chmod(rows[i].path, rows[i].mode) == 0);
		MUST(!rows[i].owner || chown(rows[i].path, rows[i].owner, 0) == 0);
		r = tree ? shipped_root("core", path, sizeof(path), &e) : find_init(&e);
		MUST(r == -EPERM && strstr(e.text, rows[i].says));
		MUST(strstr(e.text, tree ? "/rootfs" : "/.") != NULL);
		MUST(chmod(rows[i].path, 0755) == 0 && chown(rows[i].path, 0, 0) == 0);
	}
	MUST(find_init(&(struct err){ 0 }) >= 0);
	MUST(shipped_root("core", path, sizeof(path), &(struct err){ 0 }) == 0);
}

START_TEST(what_others_could_change_is_refused)
{
	unit_child(look_at_owners, NULL);
}
END_TEST

static void look_for_trees(void *arg)
{
	char path[PATH_MAX];
	struct stat st;
	struct err e;

	(void)arg;
	if (!own_the_folder())
		return;
	MUST(mkdir("rootfs", 0755) == 0 && mkdir("rootfs/core", 0755) == 0);
	MUST(mknod("rootfs/file", S_IFREG | 0644, 0) == 0);
	MUST(shipped_root("core", path, sizeof(path), &e) == 0);
	MUST(stat(path, &st) == 0 && S_ISDIR(st.st_mode));
	MUST(path[0] == '/' && strcmp(path + strlen(path) - 12, "/rootfs/core") == 0);
	MUST(shipped_root("file", path, sizeof(path), &e) == -ENOENT);
	MUST(shipped_root("cor", path, sizeof(path), &e) == -ENOENT);
	/* names of folders that are everywhere are no names of trees */
	MUST(shipped_root(".", path, sizeof(path), &e) < 0);
	MUST(shipped_root("..", path, sizeof(path), &e) < 0);
}

START_TEST(trees_lie_beside_the_executable)
{
	unit_child(look_for_trees, NULL);
}
END_TEST

static void look_for_init(void *arg)
{
	struct stat st, found;
	struct err e;
	int fd;

	(void)arg;
	if (!own_the_folder())
		return;
	MUST(find_init(&e) == -ENOENT && strstr(e.text, "stepjail-init") != NULL);
	MUST(mknod("stepjail-init", S_IFREG | 0755, 0) == 0 &&
	     chmod("stepjail-init", 0755) == 0);
	fd = find_init(&e);
	MUST(fd >= 0 && fcntl(fd, F_GETFD) == FD_CLOEXEC);
	MUST(fstat(fd, &found) == 0 && stat("stepjail-init", &st) == 0);
	MUST(found.st_ino == st.st_ino && found.st_dev == st.st_dev);
	/* one that anyone can write is anyone's */
	MUST(chmod("stepjail-init", 0757) == 0 && find_init(&e) == -EPERM);
	MUST(rename("stepjail-init", "other") == 0 && chmod("other", 0755) == 0);
	MUST(symlink("other", "stepjail-init") == 0 && find_init(&e) < 0);
	MUST(unlink("stepjail-init") == 0 && mkdir("stepjail-init", 0755) == 0);
	MUST(find_init(&e) == -EPERM);
}

START_TEST(init_lies_beside_the_executable)
{
	unit_child(look_for_init, NULL);
}
END_TEST

static void look_for_escape(void *arg)
{
	char *words[] = { (char *)(uintptr_t) "escape", NULL };
	struct err e;

	(void)arg;
	if (!own_the_folder())
		return;
	MUST(command_escape(words + 1, &e) == -ENOENT &&
	     strstr(e.text, "stepjail-escape"));
	MUST(mknod("stepjail-escape", S_IFREG | 0757, 0) == 0);
	MUST(chmod("stepjail-escape", 0757) == 0 &&
	     command_escape(words + 1, &e) == -EPERM);
	/* an empty file is no program */
	MUST(chmod("stepjail-escape", 0755) == 0);
	MUST(command_escape(words + 1, &e) == -ENOEXEC);
}

START_TEST(escape_lies_beside_the_executable)
{
	unit_child(look_for_escape, NULL);
}
END_TEST

Suite *jail_shipped_suite(void)
{
	Suite *s = suite_create("jail shipped");
	TCase *c = tcase_create("shipped");

	tcase_add_test(c, a_path_is_taken_as_it_is);
	tcase_add_test(c, a_long_path_is_refused);
	tcase_add_test(c, an_unknown_tree_is_named);
	tcase_add_test(c, what_others_could_change_is_refused);
	tcase_add_test(c, trees_lie_beside_the_executable);
	tcase_add_test(c, init_lies_beside_the_executable);
	tcase_add_test(c, escape_lies_beside_the_executable);
	suite_add_tcase(s, c);
	return s;
}
