/* SPDX-License-Identifier: MIT */
/*
 * test_jail_mount_op.c - paths in a tree that its owner filled with traps, and mounts
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <linux/magic.h>

#include "init/io.h"
#include "jail/walls/mount_op.h"
#include "tests/unit/suites.h"

static const char *tree, *outside;
static int root = -1;

/* a tree with a folder, a file, and symlinks of every kind that lead out of it */
static void make_tree(void)
{
	(void)umask(022);
	tree = unit_folder();
	outside = unit_folder();
	root = open(tree, O_PATH | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(root, 0);
	ck_assert_int_eq(mkdirat(root, "folder", 0755), 0);
	(void)unit_file(tree, "file", "text", 4);
	ck_assert_int_eq(symlinkat(outside, root, "abs"), 0);
	ck_assert_int_eq(symlinkat("..", root, "up"), 0);
	ck_assert_int_eq(symlinkat("folder", root, "inner"), 0);
	ck_assert_int_eq(symlinkat("nowhere", root, "dangling"), 0);
	ck_assert_int_eq(symlinkat("/proc/self/cwd", root, "magic"), 0);
	ck_assert_int_eq(symlinkat("loop", root, "loop"), 0);
}

static void close_tree(void)
{
	io_close_fd(&root);
}

static mode_t kind_of(const char *path)
{
	struct stat st;

	if (fstatat(root, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	return st.st_mode;
}

START_TEST(points_are_made)
{
	struct err e;

	ck_assert_int_eq(mount_make_point(root, "/new", true, &e), 0);
	ck_assert(S_ISDIR(kind_of("new")));
	ck_assert_uint_eq(kind_of("new") & 0777, 0755);
	ck_assert_int_eq(mount_make_point(root, "/a/b/c/d", true, &e), 0);
	ck_assert(S_ISDIR(kind_of("a/b/c/d")));
	ck_assert_int_eq(mount_make_point(root, "/a/b/file", false, &e), 0);
	ck_assert(S_ISREG(kind_of("a/b/file")));
	ck_assert_uint_eq(kind_of("a/b/file") & 0777, 0444);
	ck_assert_int_eq(mount_make_point(root, "/folder/deep/er", false, &e), 0);
	ck_assert(S_ISREG(kind_of("folder/deep/er")));
	ck_assert_int_eq(mount_make_point(root, "/... and blanks/x", true, &e), 0);
	ck_assert(S_ISDIR(kind_of("... and blanks/x")));
}
END_TEST

START_TEST(what_fits_stays)
{
	char text[16];
	struct err e;

	ck_assert_int_eq(mount_make_point(root, "/folder", true, &e), 0);
	ck_assert_int_eq(mount_make_point(root, "/file", false, &e), 0);
	ck_assert_int_eq(
		io_read_file_at(AT_FDCWD, unit_path(tree, "file"), text, sizeof(text)),
		4);
	ck_assert_int_eq(mount_make_point(root, "/new/x", true, &e), 0);
	ck_assert_int_eq(mount_make_point(root, "/new/x", true, &e), 0);
}
END_TEST

START_TEST(the_other_kind_is_refused)
{
	struct err e;

	ck_assert_int_eq(mount_make_point(root, "/file", true, &e), -ENOTDIR);
	ck_assert_ptr_nonnull(strstr(e.text, "/file is a file"));
	ck_assert_int_eq(mount_make_point(root, "/folder", false, &e), -EISDIR);
	ck_assert_ptr_nonnull(strstr(e.text, "/folder is a folder"));
	ck_assert_int_eq(mount_make_point(root, "/file/below", true, &e), -ENOTDIR);
	ck_assert(S_ISREG(kind_of("file")) && S_ISDIR(kind_of("folder")));
}
END_TEST

static const char *const links[] = { "/abs",      "/up",    "/inner",
				     "/dangling", "/magic", "/loop" };

static unsigned int count_in(const char *folder)
{
	unsigned int n = 0;
	struct stat st;

	ck_assert_int_eq(stat(folder, &st), 0);
	/* its own name, its dot, and one for each folder in it; files are looked for by
	 * name */
	n = (unsigned int)st.st_nlink;
	return n;
}

START_TEST(no_symlink_is_followed)
{
	unsigned int before = count_in(outside);

	for (size_t i = 0; i < COUNT(links); i++) {
		for (int folder = 0; folder < 2; folder++) {
			char below[64], deep[64];
			struct err e;

			(void)snprintf(below, sizeof(below), "%s/x", links[i]);
			(void)snprintf(deep, sizeof(deep), "/folder/..%s/x/y", links[i]);
			ck_assert_int_eq(mount_make_point(root, links[i], folder, &e),
					 -ELOOP);
			ck_assert_ptr_nonnull(strstr(e.text, "symlink"));
			ck_assert_ptr_nonnull(strstr(e.text, links[i]));
			ck_assert_msg(mount_make_point(root, below, folder, &e) == -ELOOP,
				      "%s: %s", below, e.text);
			ck_assert_msg(mount_make_point(root, deep, folder, &e) < 0, "%s",
				      deep);
		}
		ck_assert(S_ISLNK(kind_of(links[i] + 1)));
	}
	ck_assert_uint_eq(count_in(outside), before);
	ck_assert_int_eq(access(unit_path(outside, "x"), F_OK), -1);
	ck_assert_int_eq(access(unit_path(tree, "folder/x"), F_OK), -1);
}
END_TEST

/* plan.c refuses these; were it not to, they would still not climb */
START_TEST(no_path_climbs)
{
	static const char *const rows[] = { "/../x", "/folder/../../x", "/..", "/up/x" };

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct err e;

		(void)mount_make_point(root, rows[i], true, &e);
		(void)mount_make_point(root, rows[i], false, &e);
		ck_assert_int_eq(faccessat(root, "../x", F_OK, 0), -1);
	}
}
END_TEST

START_TEST(a_full_or_closed_tree_is_an_error)
{
	struct err e = { 0 };

	ck_assert_int_eq(mount_make_point(-1, "/x", true, &e), -EBADF);
	ck_assert_int_eq(strncmp(e.text, "mount: ", 7), 0);
	if (geteuid() == 0) {
		unit_skip("a tree that may not be written: root may write anywhere");
		return;
	}
	ck_assert_int_eq(chmod(unit_path(tree, "folder"), 0555), 0);
	ck_assert_int_eq(mount_make_point(root, "/folder/new", true, &e), -EACCES);
	/* and it is the same reason for a folder on the way */
	ck_assert_int_eq(mount_make_point(root, "/folder/a/b", true, &e), -EACCES);
}
END_TEST

/* attributes and sizes of real mounts; in a namespace, and gone with it */
static void mount_and_look(void *arg)
{
	const struct tmpfs small = { 1 << 20, 10, 0710, 0 };
	struct statvfs fs;
	struct stat st;
	struct err e;
	int fd;

	(void)arg;
	if (!unit_namespace(CLONE_NEWNS))
		return;
	MUST(mount_tmpfs(tree, &small, MOUNT_WRITABLE, &e) == 0);
	fd = mount_clone_at(tree, NULL, &e);
	MUST(fd >= 0);
	MUST(fstatvfs(fd, &fs) == 0 && fstat(fd, &st) == 0);
	MUST(fs.f_blocks * fs.f_frsize == 1 << 20);
	MUST(fs.f_files == 10);
	MUST((st.st_mode & 07777) == 0710);
	MUST((fs.f_flag & (ST_NOSUID | ST_NODEV | ST_NOEXEC)) ==
	     (ST_NOSUID | ST_NODEV | ST_NOEXEC));
	MUST(!(fs.f_flag & ST_RDONLY));
	/* its inodes run out, and so does its room */
	MUST(mkdirat(fd, "point", 0755) == 0);
	MUST(mount_set_flags(fd, MOUNT_ATTR_RDONLY, &e) == 0);
	MUST(mkdirat(fd, "other", 0755) < 0 && errno == EROFS);
	MUST(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	MUST(mount_overlay(tree, "no/such/layer:nor/this/one", &e) < 0);
	MUST(strncmp(e.text, "mount: ", 7) == 0);
}

START_TEST(a_tmpfs_has_its_caps)
{
	unit_child(mount_and_look, NULL);
}
END_TEST

static void attach_at_traps(void *arg)
{
	const struct tmpfs small = { 1 << 20, 10, 0755, 0 };
	struct statfs fs;
	struct err e = { 0 };
	int fd;

	(void)arg;
	if (!unit_namespace(CLONE_NEWNS))
		return;
	/* the tree as a place of this namespace */
	MUST(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	MUST(mount(tree, tree, NULL, MS_BIND, NULL) == 0);
	root = open(tree, O_PATH | O_DIRECTORY | O_CLOEXEC);
	MUST(mount_tmpfs(outside, &small, 0, &e) == 0);
	fd = mount_clone_at(outside, NULL, &e);
	MUST(root >= 0 && fd >= 0);
	for (size_t i = 0; i < COUNT(links); i++)
		MUST(mount_attach_beneath(fd, root, links[i], &e) == -ELOOP);
	MUST(mount_attach_beneath(fd, root, "/../x", &e) < 0);
	MUST(mount_attach_beneath(fd, root, "/up/x", &e) == -ELOOP);
	MUST(mount_attach_beneath(fd, root, "/missing", &e) == -ENOENT);
	MUST(strstr(e.text, "/missing") != NULL);
	MUST(mount_attach_beneath(fd, root, "/folder", &e) == 0);
	MUST(statfs(unit_path(tree, "folder"), &fs) == 0 && fs.f_type == TMPFS_MAGIC);
}

START_TEST(mounts_follow_no_symlink)
{
	unit_child(attach_at_traps, NULL);
}
END_TEST

Suite *jail_mount_op_suite(void)
{
	Suite *s = suite_create("jail mount_op");
	TCase *c = tcase_create("mount_op");

	tcase_add_checked_fixture(c, make_tree, close_tree);
	tcase_add_test(c, points_are_made);
	tcase_add_test(c, what_fits_stays);
	tcase_add_test(c, the_other_kind_is_refused);
	tcase_add_test(c, no_symlink_is_followed);
	tcase_add_test(c, no_path_climbs);
	tcase_add_test(c, a_full_or_closed_tree_is_an_error);
	tcase_add_test(c, a_tmpfs_has_its_caps);
	tcase_add_test(c, mounts_follow_no_symlink);
	suite_add_tcase(s, c);
	return s;
}
