/* SPDX-License-Identifier: MIT */
/*
 * test_jail_cgroup.c - what a leaf says, from plain files in its place
 *
 * Real limits need a cgroup v2 hierarchy: tests/vm has them. Here a folder plays the
 * leaf.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>

#include "init/io.h"
#include "jail/launch/cgroup/cgroup.h"
#include "jail/watch/cgroup_usage.h"
#include "tests/unit/suites.h"

static const char *base;
static struct cgroup cg;

static void make_leaf(void)
{
	cg = CGROUP_NONE;
	base = unit_folder();
	(void)snprintf(cg.name, sizeof(cg.name), "leaf");
	ck_assert_int_eq(mkdir(unit_path(base, "leaf"), 0755), 0);
	cg.base = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cg.leaf = openat(cg.base, "leaf", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(cg.leaf, 0);
}

static void close_leaf(void)
{
	io_close_fd(&cg.leaf);
	io_close_fd(&cg.base);
}

static void put(const char *file, const char *text)
{
	char name[64];

	(void)snprintf(name, sizeof(name), "leaf/%s", file);
	(void)unit_file(base, name, text, strlen(text));
}

START_TEST(none_is_nothing)
{
	const struct cgroup none = CGROUP_NONE;

	ck_assert_int_eq(none.base, -1);
	ck_assert_int_eq(none.leaf, -1);
	for (size_t i = 0; i < CGROUP_HELD; i++)
		ck_assert_int_eq(none.held[i], -1);
	/* and killing it writes nowhere */
	cgroup_kill(&none);
}
END_TEST

START_TEST(processes_are_counted)
{
	char *many = malloc(40000);
	size_t n = 0;

	put("cgroup.procs", "1\n22\n333\n");
	ck_assert_int_eq(cgroup_count(&cg), 3);
	/* more than is read at once is still told, as a lower bound */
	for (int i = 0; i < 4000; i++)
		n += (size_t)sprintf(many + n, "%d\n", 10000 + i);
	put("cgroup.procs", many);
	ck_assert_int_ge(cgroup_count(&cg), 2000);
	ck_assert_int_le(cgroup_count(&cg), 4000);
	free(many);
}
END_TEST

START_TEST(killing_writes_to_the_leaf)
{
	char text[8];

	put("cgroup.kill", "");
	cgroup_kill(&cg);
	ck_assert_int_eq(io_read_file_at(cg.leaf, "cgroup.kill", text, sizeof(text)), 1);
	ck_assert_str_eq(text, "1");
}
END_TEST

/* without a path: what is opened before is what is read and written afterwards */
START_TEST(held_files_are_used)
{
	char text[32];

	put("cgroup.kill", "");
	put("cgroup.procs", "1\n22\n");
	put("memory.peak", "4096\n");
	cgroup_hold(&cg, true);
	ck_assert_int_eq(rename(unit_path(base, "leaf"), unit_path(base, "moved")), 0);
	io_close_fd(&cg.leaf);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(cgroup_count(&cg), 2);
		ck_assert_int_eq(cgroup_read(&cg, "memory.peak", text, sizeof(text)), 5);
		ck_assert_str_eq(text, "4096\n");
	}
	/* one that the kernel lacks */
	ck_assert_int_lt(cgroup_read(&cg, "cpu.stat", text, sizeof(text)), 0);
	cgroup_kill(&cg);
	ck_assert_int_eq(io_read_file_at(cg.base, "moved/cgroup.kill", text, 8), 1);
	cgroup_close(&cg);
	ck_assert_int_eq(cg.held[0], -1);
	ck_assert_int_eq(cg.base, -1);
	/* again is harmless */
	cgroup_close(&cg);
}
END_TEST

START_TEST(a_leaf_is_removed)
{
	ck_assert_int_eq(cgroup_remove(cg.base, "leaf"), 0);
	ck_assert_int_eq(access(unit_path(base, "leaf"), F_OK), -1);
	/* one that was removed already is no error */
	ck_assert_int_eq(cgroup_remove(cg.base, "leaf"), 0);
}
END_TEST

START_TEST(a_leaf_that_stays_is_an_error)
{
	/* a plain folder with something in it: rmdir(2) says so, and not EBUSY */
	put("something", "");
	ck_assert_int_eq(cgroup_remove(cg.base, "leaf"), -ENOTEMPTY);
}
END_TEST

static bool is_v2(void)
{
	struct statfs fs;

	return statfs("/sys/fs/cgroup", &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC;
}

START_TEST(no_v2_is_named_with_its_remedy)
{
	char where[128];
	struct err e = { 0 };
	int found = -1;

	if (is_v2()) {
		unit_skip("cgroup_find() without cgroup v2: this host has it");
		return;
	}
	ck_assert_int_eq(cgroup_find(NULL, &found, where, sizeof(where), &e), -ENOENT);
	ck_assert_int_eq(found, -1);
	ck_assert_ptr_nonnull(strstr(e.text, "cgroup v2"));
	ck_assert_ptr_nonnull(strstr(e.text, "--allow-missing=cgroup"));
	/* a scope of systemd's would not mend that: nothing is executed */
	cgroup_enter_scope((char *[]){ "stepjail", "run", NULL });
	/* and a leaf is not half made: its end has nothing to do */
	close_leaf();
	cg = CGROUP_NONE;
	ck_assert_int_eq(cgroup_place(&cg, &(struct plan){ 0 }, NULL, &e), -ENOENT);
	ck_assert_int_eq(cg.base, -1);
}
END_TEST

Suite *jail_cgroup_suite(void)
{
	Suite *s = suite_create("jail cgroup");
	TCase *c = tcase_create("cgroup");

	tcase_add_checked_fixture(c, make_leaf, close_leaf);
	tcase_add_test(c, none_is_nothing);
	tcase_add_test(c, processes_are_counted);
	tcase_add_test(c, killing_writes_to_the_leaf);
	tcase_add_test(c, held_files_are_used);
	tcase_add_test(c, a_leaf_is_removed);
	tcase_add_test(c, a_leaf_that_stays_is_an_error);
	tcase_add_test(c, no_v2_is_named_with_its_remedy);
	suite_add_tcase(s, c);
	return s;
}
