/* SPDX-License-Identifier: MIT */
/*
 * test_jail_source.c - host folders and files that a jail shall see
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "init/io.h"
#include "jail/walls/mount.h"
#include "jail/walls/mount_op.h"
#include "tests/unit/suites.h"

static struct plan plan;
static struct sources sources;
static const struct ids caller;
static const char *host;

static void make_host(void)
{
	unit_lives_on();
	plan_init(&plan);
	host = unit_folder();
	ck_assert_int_eq(mkdir(unit_path(host, "root"), 0755), 0);
	ck_assert_int_eq(mkdir(unit_path(host, "folder"), 0755), 0);
	(void)unit_file(host, "folder/file", "text", 4);
	ck_assert_int_eq(symlink("folder", unit_path(host, "to-folder")), 0);
	ck_assert_int_eq(symlink("folder/file", unit_path(host, "to-file")), 0);
	ck_assert_int_eq(symlink("nowhere", unit_path(host, "dangling")), 0);
	ck_assert_int_eq(symlink("loop", unit_path(host, "loop")), 0);
	ck_assert_int_eq(mkfifo(unit_path(host, "fifo"), 0666), 0);
}

/* bind host/@name and find it; the root tree is host/root */
static int find(const char *name, bool writable, bool foreign, struct err *e)
{
	char spec[4096];

	*e = (struct err){ 0 };
	plan_init(&plan);
	(void)snprintf(spec, sizeof(spec), "%s:/dst", unit_path(host, name));
	ck_assert_int_eq(plan_add_bind(&plan, spec, writable, e), 0);
	return mount_find(&sources, &plan, unit_path(host, "root"), foreign, e);
}

static void ck_same(const struct source *s, const char *name)
{
	struct stat st;

	ck_assert_int_eq(stat(unit_path(host, name), &st), 0);
	ck_assert_uint_eq(s->dev, st.st_dev);
	ck_assert_uint_eq(s->ino, st.st_ino);
	ck_assert_int_eq(s->tree, -1);
}

START_TEST(folders_are_found)
{
	struct err e;

	ck_assert_int_eq(find("folder", false, false, &e), 0);
	ck_assert_str_eq(sources.root.path, unit_path(host, "root"));
	ck_assert_ptr_null(sources.root.name);
	ck_same(&sources.root, "root");
	ck_assert_str_eq(sources.bind[0].path, unit_path(host, "folder"));
	ck_assert_ptr_null(sources.bind[0].name);
	ck_same(&sources.bind[0], "folder");
}
END_TEST

START_TEST(a_file_is_its_folder_and_its_name)
{
	struct err e;

	ck_assert_int_eq(find("folder/file", false, false, &e), 0);
	ck_assert_str_eq(sources.bind[0].path, unit_path(host, "folder"));
	ck_assert_str_eq(sources.bind[0].name, "file");
	ck_same(&sources.bind[0], "folder/file");
}
END_TEST

START_TEST(symlinks_and_dots_are_resolved)
{
	struct err e;

	ck_assert_int_eq(find("to-folder", false, false, &e), 0);
	ck_assert_str_eq(sources.bind[0].path, unit_path(host, "folder"));
	ck_assert_int_eq(find("to-file", false, false, &e), 0);
	ck_assert_str_eq(sources.bind[0].path, unit_path(host, "folder"));
	ck_assert_str_eq(sources.bind[0].name, "file");
	ck_assert_int_eq(find("folder/../to-folder/./file", false, false, &e), 0);
	ck_assert_str_eq(sources.bind[0].path, unit_path(host, "folder"));
	ck_assert_str_eq(sources.bind[0].name, "file");
}
END_TEST

START_TEST(a_file_of_the_top_folder_has_it)
{
	static const char *const candidates[] = { "/.dockerenv", "/vmlinuz",
						  "/initrd.img" };
	struct err e;

	for (size_t i = 0; i < COUNT(candidates); i++) {
		char spec[64], *real = realpath(candidates[i], NULL);
		bool top = real && strrchr(real, '/') == real;

		free(real);
		if (!top)
			continue;
		(void)snprintf(spec, sizeof(spec), "%s:/dst", candidates[i]);
		ck_assert_int_eq(plan_add_bind(&plan, spec, false, &e), 0);
		ck_assert_int_eq(mount_find(&sources, &plan, "/", false, &e), 0);
		ck_assert_str_eq(sources.root.path, "/");
		ck_assert_str_eq(sources.bind[0].path, "/");
		ck_assert_str_eq(sources.bind[0].name, candidates[i] + 1);
		return;
	}
	unit_skip("source: no plain file in / to look at");
}
END_TEST

START_TEST(what_is_not_there_is_named)
{
	static const struct {
		const char *name;
		int result;
	} rows[] = {
		{ "missing", -ENOENT }, { "dangling", -ENOENT },
		{ "loop", -ELOOP },     { "folder/file/x", -ENOTDIR },
		{ "fifo", -EINVAL },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct err e;

		ck_assert_int_eq(find(rows[i].name, false, false, &e), rows[i].result);
		ck_assert_int_eq(strncmp(e.text, "bind: ", 6), 0);
		ck_assert_ptr_nonnull(strstr(e.text, rows[i].name));
	}
}
END_TEST

START_TEST(devices_are_no_sources)
{
	struct err e = { 0 };

	ck_assert_int_eq(plan_add_bind(&plan, "/dev/null:/dst", false, &e), 0);
	ck_assert_int_eq(mount_find(&sources, &plan, host, false, &e), -EINVAL);
	ck_assert_ptr_nonnull(strstr(e.text, "neither a file nor a folder"));
}
END_TEST

START_TEST(the_root_tree_is_a_folder)
{
	struct err e = { 0 };

	ck_assert_int_eq(
		mount_find(&sources, &plan, unit_path(host, "folder/file"), false, &e),
		-ENOTDIR);
	ck_assert_int_eq(strncmp(e.text, "rootfs: ", 8), 0);
	ck_assert_int_eq(
		mount_find(&sources, &plan, unit_path(host, "missing"), false, &e),
		-ENOENT);
	ck_assert_int_eq(strncmp(e.text, "rootfs: ", 8), 0);
	ck_assert_ptr_nonnull(strstr(e.text, "missing"));
}
END_TEST

/* what the jail's own ids cannot open: its owner is mapped, or it is refused with words
 * before the jail starts */
START_TEST(what_is_closed_to_other_ids_is_mapped)
{
	enum { TAKEN, MAPPED, REFUSED };
	static const struct {
		const char *name;
		mode_t folder, file;
		bool writable;
		int is;
	} rows[] = {
		{ "folder", 0755, 0644, false, TAKEN },
		{ "folder", 0705, 0600, false, TAKEN },
		{ "folder", 0750, 0644, false, MAPPED },
		{ "folder", 0754, 0644, false, MAPPED },
		{ "folder", 0751, 0644, false, MAPPED },
		{ "folder", 0770, 0644, true, REFUSED },
		{ "folder", 0055, 0644, false, TAKEN },
		{ "folder", 0200, 0644, false, REFUSED },
		{ "folder", 0755, 0644, true, REFUSED },
		{ "folder", 0777, 0644, true, TAKEN },
		{ "folder/file", 0755, 0644, false, TAKEN },
		{ "folder/file", 0711, 0604, false, TAKEN },
		{ "folder/file", 0755, 0640, false, MAPPED },
		{ "folder/file", 0755, 0060, false, REFUSED },
		{ "folder/file", 0754, 0644, false, MAPPED },
		{ "folder/file", 0755, 0644, true, REFUSED },
		{ "folder/file", 0750, 0666, true, REFUSED },
		{ "folder/file", 0755, 0646, true, TAKEN },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct err e;
		int r;

		/* from one that may be closed to the owner, too */
		ck_assert_int_eq(chmod(unit_path(host, "folder"), 0755), 0);
		ck_assert_int_eq(chmod(unit_path(host, "folder/file"), rows[i].file), 0);
		ck_assert_int_eq(chmod(unit_path(host, "folder"), rows[i].folder), 0);
		r = find(rows[i].name, rows[i].writable, true, &e);
		ck_assert_msg(r == (rows[i].is == REFUSED ? -EACCES : 0),
			      "row %zu: %d %s", i, r, e.text);
		if (rows[i].is == REFUSED)
			ck_assert_msg(strstr(e.text, "chmod o+") != NULL, "%s", e.text);
		else
			ck_assert_int_eq(sources.bind[0].mapped, rows[i].is == MAPPED);
		if (geteuid() != 0 &&
		    (rows[i].is == REFUSED || (rows[i].folder & 0500) != 0500))
			continue;
		/* to the caller's own ids it is not closed */
		ck_assert_int_eq(find(rows[i].name, rows[i].writable, false, &e), 0);
		ck_assert(!sources.bind[0].mapped);
	}
	ck_assert_int_eq(chmod(unit_path(host, "folder"), 0755), 0);
}
END_TEST

/* as an ordinary user, with the rights that the jail will have: the caller's */
START_TEST(what_is_closed_to_the_caller_is_refused)
{
	struct err e;

	if (geteuid() == 0) {
		unit_skip("source: nothing is closed to root");
		return;
	}
	ck_assert_int_eq(find("folder/file", true, false, &e), 0);
	ck_assert_int_eq(chmod(unit_path(host, "folder/file"), 0444), 0);
	ck_assert_int_eq(find("folder/file", false, false, &e), 0);
	ck_assert_int_eq(find("folder/file", true, false, &e), -EACCES);
	ck_assert_int_eq(strncmp(e.text, "bind: ", 6), 0);
	ck_assert_int_eq(chmod(unit_path(host, "folder/file"), 0), 0);
	ck_assert_int_eq(find("folder/file", false, false, &e), -EACCES);
	ck_assert_int_eq(chmod(unit_path(host, "folder"), 0600), 0);
	ck_assert_int_eq(find("folder", false, false, &e), -EACCES);
	ck_assert_int_eq(chmod(unit_path(host, "folder"), 0755), 0);
}
END_TEST

START_TEST(a_closed_root_tree_is_refused)
{
	struct err e = { 0 };

	ck_assert_int_eq(chmod(unit_path(host, "root"), 0700), 0);
	ck_assert_int_eq(mount_find(&sources, &plan, unit_path(host, "root"), true, &e),
			 -EACCES);
	ck_assert_int_eq(strncmp(e.text, "rootfs: ", 8), 0);
	ck_assert_int_eq(mount_find(&sources, &plan, unit_path(host, "root"), false, &e),
			 0);
}
END_TEST

/* how a clone is mounted, where /proc/PID/mountinfo has no line for it */
static unsigned long flags_of(int tree)
{
	struct statvfs fs;

	MUST(fstatvfs(tree, &fs) == 0);
	return fs.f_flag & (ST_RDONLY | ST_NOSUID | ST_NODEV | ST_NOEXEC);
}

static void clone_all(void *arg)
{
	struct err e = { 0 };

	(void)arg;
	if (!unit_namespace(CLONE_NEWNS))
		return;
	MUST(mount_clone(&sources, &plan, &caller, false, &e) == 0);
	MUST(flags_of(sources.root.tree) == (ST_RDONLY | ST_NOSUID | ST_NODEV));
	MUST(flags_of(sources.bind[0].tree) == (ST_RDONLY | ST_NOSUID | ST_NODEV));
	MUST(flags_of(sources.bind[1].tree) == (ST_NOSUID | ST_NODEV | ST_NOEXEC));
	MUST(faccessat(sources.bind[0].tree, "file", R_OK, 0) == 0);
	MUST(mkdirat(sources.bind[0].tree, "new", 0755) < 0 && errno == EROFS);
	MUST(mkdirat(sources.bind[1].tree, "new", 0755) == 0);
}

START_TEST(clones_have_their_flags)
{
	char spec[4096];
	struct err e;

	ck_assert_int_eq(find("folder", false, false, &e), 0);
	(void)snprintf(spec, sizeof(spec), "%s:/rw", unit_path(host, "root"));
	ck_assert_int_eq(plan_add_bind(&plan, spec, true, &e), 0);
	ck_assert_int_eq(mount_find(&sources, &plan, unit_path(host, "root"), false, &e),
			 0);
	unit_child(clone_all, NULL);
}
END_TEST

static void clone_replaced(void *arg)
{
	const char *what = arg;
	struct err e = { 0 };

	if (!unit_namespace(CLONE_NEWNS))
		return;
	MUST(rename(unit_path(host, what), unit_path(host, "aside")) == 0);
	MUST(strchr(what, '/') ? mknod(unit_path(host, what), S_IFREG | 0644, 0) == 0
			       : mkdir(unit_path(host, what), 0755) == 0);
	MUST(mount_clone(&sources, &plan, &caller, false, &e) == -ESTALE);
	MUST(strstr(e.text, "was replaced") != NULL);
}

START_TEST(what_was_replaced_is_refused)
{
	static const char *const rows[] = { "folder", "folder/file" };
	struct err e;

	ck_assert_int_eq(find(rows[_i], false, false, &e), 0);
	unit_child(clone_replaced, (void *)(uintptr_t)rows[_i]);
}
END_TEST

static bool replaced;

/* a jail's tree with the file in it, which is replaced between its look and its mount */
static void mount_it(void *arg)
{
	struct err e = { 0 };
	char uids[32], gids[32];
	int r;

	(void)arg;
	/* as an ordinary user's jail maps the caller */
	(void)snprintf(uids, sizeof(uids), "%d %u 1", PLAN_PROGRAM_ID, geteuid());
	(void)snprintf(gids, sizeof(gids), "%d %u 1", PLAN_PROGRAM_ID, getegid());
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0) {
		unit_skip("no user namespace on this host");
		return;
	}
	MUST(io_write_file_at(AT_FDCWD, "/proc/self/uid_map", uids) == 0);
	MUST(io_write_file_at(AT_FDCWD, "/proc/self/setgroups", "deny") == 0);
	MUST(io_write_file_at(AT_FDCWD, "/proc/self/gid_map", gids) == 0);
	MUST(mount_clone(&sources, &plan, &caller, false, &e) == 0);
	if (replaced) {
		MUST(rename(unit_path(host, "folder/file"), unit_path(host, "old")) == 0);
		MUST(mknod(unit_path(host, "folder/file"), S_IFREG | 0666, 0) == 0);
	}
	r = mount_jail(&sources, &plan, true, &e);
	MUST(replaced ? r == -ESTALE && strstr(e.text, "was replaced") != NULL : r == 0);
}

START_TEST(what_is_mounted_was_looked_at)
{
	char spec[4096];
	struct err e = { 0 };

	/* writable or not, replaced or not */
	plan_init(&plan);
	plan.proc = PROC_NONE;
	plan.limit[LIMIT_TMP_BYTES] = plan.limit[LIMIT_WORK_BYTES] = 1 << 20;
	plan.limit[LIMIT_INODES] = 100;
	(void)snprintf(spec, sizeof(spec), "%s:/work/dst",
		       unit_path(host, "folder/file"));
	ck_assert_int_eq(plan_add_bind(&plan, spec, _i & 1, &e), 0);
	ck_assert_int_eq(mount_find(&sources, &plan, unit_path(host, "root"), false, &e),
			 0);
	replaced = _i & 2;
	unit_child(mount_it, NULL);
}
END_TEST

Suite *jail_source_suite(void)
{
	Suite *s = suite_create("jail source");
	TCase *c = tcase_create("source");

	tcase_add_checked_fixture(c, make_host, NULL);
	tcase_add_test(c, folders_are_found);
	tcase_add_test(c, a_file_is_its_folder_and_its_name);
	tcase_add_test(c, symlinks_and_dots_are_resolved);
	tcase_add_test(c, a_file_of_the_top_folder_has_it);
	tcase_add_test(c, what_is_not_there_is_named);
	tcase_add_test(c, devices_are_no_sources);
	tcase_add_test(c, the_root_tree_is_a_folder);
	tcase_add_test(c, what_is_closed_to_other_ids_is_mapped);
	tcase_add_test(c, what_is_closed_to_the_caller_is_refused);
	tcase_add_test(c, a_closed_root_tree_is_refused);
	tcase_add_test(c, clones_have_their_flags);
	tcase_add_loop_test(c, what_was_replaced_is_refused, 0, 2);
	tcase_add_loop_test(c, what_is_mounted_was_looked_at, 0, 4);
	suite_add_tcase(s, c);
	return s;
}
