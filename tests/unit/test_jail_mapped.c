/* SPDX-License-Identifier: MIT */
/*
 * test_jail_mapped.c - what is closed to others, shown to a jail of root's as its own
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "init/io.h"
#include "jail/launch/posture.h"
#include "jail/walls/mount.h"
#include "tests/unit/suites.h"

static struct plan plan;
static struct sources sources;
static const char *host;

static void make_host(void)
{
	unit_lives_on();
	host = unit_folder();
	ck_assert_int_eq(mkdir(unit_path(host, "root"), 0755), 0);
	ck_assert_int_eq(mkdir(unit_path(host, "folder"), 0755), 0);
	(void)unit_file(host, "folder/file", "text", 4);
	ck_assert_int_eq(symlink("folder", unit_path(host, "to-folder")), 0);
	ck_assert_int_eq(symlink("folder/file", unit_path(host, "to-file")), 0);
}

/* bind host/@name, read-only, and find it; the root tree is host/root */
static int find(const char *name, bool foreign, struct err *e)
{
	static char spec[4096]; /* the plan points into it */

	*e = (struct err){ 0 };
	plan_init(&plan);
	(void)snprintf(spec, sizeof(spec), "%s:/dst", unit_path(host, name));
	ck_assert_int_eq(plan_add_bind(&plan, spec, false, e), 0);
	return mount_find(&sources, &plan, unit_path(host, "root"), foreign, e);
}

/* a symlink may be anybody's, and lead to what is closed to him */
START_TEST(what_a_symlink_leads_to_is_not_mapped)
{
	static const char *const links[] = { "to-folder", "to-file", "to-folder/file" };
	struct err e;

	ck_assert_int_eq(chmod(unit_path(host, "folder"), 0700), 0);
	for (size_t i = 0; i < COUNT(links); i++) {
		ck_assert_int_eq(find(links[i], true, &e), -ELOOP);
		ck_assert_ptr_nonnull(strstr(e.text, "through a symlink to "));
		ck_assert_ptr_nonnull(strstr(e.text, unit_path(host, "folder")));
		ck_assert_int_eq(find(links[i], false, &e), 0);
	}
	ck_assert_int_eq(chmod(unit_path(host, "folder"), 0755), 0);
	ck_assert_int_eq(find("to-folder", true, &e), 0);
}
END_TEST

static void clone_mapped(void *arg)
{
	/* the file's owner is the program, that of its folder init, and others nobody */
	const struct ids ids = { .own = true, .host_uid = 70000, .host_gid = 70000 };
	struct err e = { 0 };
	struct statvfs fs;
	struct stat st;
	int r;

	(void)arg;
	r = mount_clone(&sources, &plan, &ids, false, &e);
	if (r == -EINVAL || r == -EPERM) {
		MUST(strstr(e.text, "is closed to others: ") != NULL);
		unit_skip("source: no idmapped mounts on this file system");
		return;
	}
	MUST(r == 0);
	MUST(fstatat(sources.bind[0].tree, "file", &st, 0) == 0);
	MUST(st.st_uid == 70001 && st.st_gid == 70001 && st.st_mode == (S_IFREG | 0600));
	MUST(fstat(sources.bind[0].tree, &st) == 0);
	MUST(st.st_uid == 70000 && st.st_gid == 70000);
	MUST(fstatat(sources.bind[0].tree, "others", &st, 0) == 0);
	MUST(st.st_uid == 65534 && st.st_gid == 65534);
	MUST(fstatvfs(sources.bind[0].tree, &fs) == 0);
	MUST((fs.f_flag & (ST_RDONLY | ST_NOSUID | ST_NODEV)) ==
	     (ST_RDONLY | ST_NOSUID | ST_NODEV));
}

START_TEST(owners_are_mapped)
{
	struct err e;

	if (geteuid() != 0) {
		unit_skip("source: owners are mapped by root alone");
		return;
	}
	(void)unit_file(host, "folder/others", "text", 4);
	ck_assert_int_eq(chmod(unit_path(host, "folder/file"), 0600), 0);
	ck_assert_int_eq(chown(unit_path(host, "folder/others"), 4242, 4242), 0);
	ck_assert_int_eq(chown(unit_path(host, "folder"), 4343, 4343), 0);
	ck_assert_int_eq(find("folder/file", true, &e), 0);
	unit_child(clone_mapped, NULL);
}
END_TEST

/* the line of a bind, looked at in host/root, which plays the root directory of a jail */
START_TEST(it_is_read_back_whose_it_is)
{
	struct jail jail = { .plan = &plan, .sources = &sources, .ids = { .own = true } };
	const struct gate_ready ready = { .program = 1 };
	struct look l = { .jail = &jail, .ready = &ready };
	char text[4096] = "9 1 0:6 /file /dst ro,nosuid,nodev - overlay none ro\n";
	char *out = NULL;
	size_t size = 0;
	struct err e = { 0 };

	/* the program's is one above; in the first turn that is whose the file is */
	jail.ids.host_uid = geteuid() - (_i == 0);
	ck_assert_int_eq(find("folder/file", false, &e), 0);
	(void)unit_file(host, "root/dst", "text", 4);
	sources.bind[0].mapped = _i < 2;
	l.dir = open(host, O_PATH | O_DIRECTORY | O_CLOEXEC);
	l.text = text;
	l.out = open_memstream(&out, &size);
	/* all other mounts are missing, which is found out at the end */
	ck_assert_int_eq(posture_mounts(&l, &e), -EPERM);
	ck_assert_int_eq(fclose(l.out), 0);
	ck_assert_msg(strstr(e.text, _i == 1 ? "and not to the program" : "is missing") !=
			      NULL,
		      "%s", e.text);
	ck_assert_int_eq(strstr(out, "idmapped") != NULL, _i == 0);
	free(out);
	(void)close(l.dir);
}
END_TEST

Suite *jail_mapped_suite(void)
{
	Suite *s = suite_create("jail mapped");
	TCase *c = tcase_create("mapped");

	tcase_add_checked_fixture(c, make_host, NULL);
	tcase_add_test(c, what_a_symlink_leads_to_is_not_mapped);
	tcase_add_test(c, owners_are_mapped);
	tcase_add_loop_test(c, it_is_read_back_whose_it_is, 0, 3);
	suite_add_tcase(s, c);
	return s;
}
