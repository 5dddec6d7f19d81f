/* SPDX-License-Identifier: MIT */
/*
 * test_jail_proc.c - files of a process are the kernel's own, or nothing is read or written
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "init/io.h"
#include "jail/proc.h"
#include "tests/unit/suites.h"

START_TEST(own_files_are_read)
{
	char text[8192], file[64];

	ck_assert_int_gt(proc_read(getpid(), "status", text, sizeof(text)), 0);
	ck_assert_ptr_nonnull(strstr(text, "\nPid:"));
	(void)snprintf(file, sizeof(file), "task/%d/children", getpid());
	ck_assert_int_ge(proc_read(getpid(), file, text, sizeof(text)), 0);
	ck_assert_int_eq(proc_read(getpid(), "nothing", text, sizeof(text)), -ENOENT);
	ck_assert_int_eq(proc_read(getpid(), "status", text, 8), -EFBIG);
	/* no process has this number */
	ck_assert_int_eq(proc_read(4194305, "status", text, sizeof(text)), -ENOENT);
}
END_TEST

static void write_own(void *arg)
{
	char text[16];

	(void)arg;
	MUST(proc_write(getpid(), "oom_score_adj", "1000") == 0);
	MUST(proc_read(getpid(), "oom_score_adj", text, sizeof(text)) > 0);
	MUST(strcmp(text, "1000\n") == 0);
	MUST(proc_write(getpid(), "nothing", "1") == -ENOENT);
}

START_TEST(own_files_are_written)
{
	unit_child(write_own, NULL);
}
END_TEST

/* a process's folder under another file system, and then all of /proc */
static void replace_proc(void *arg)
{
	const char *folder = arg;
	char name[32], text[16];

	if (!unit_namespace(CLONE_NEWNS))
		return;
	(void)snprintf(name, sizeof(name), "/proc/%d", getpid());
	MUST(mount(folder, name, NULL, MS_BIND, NULL) == 0);
	MUST(proc_write(getpid(), "oom_score_adj", "1000") == -EXDEV);
	MUST(proc_read(getpid(), "oom_score_adj", text, sizeof(text)) == -EXDEV);

	MUST(umount2(name, 0) == 0);
	(void)snprintf(name + strlen(name), sizeof(name) - strlen(name), "/status");
	MUST(mount(unit_path(folder, "oom_score_adj"), name, NULL, MS_BIND, NULL) == 0);
	MUST(proc_read(getpid(), "status", text, sizeof(text)) == -EXDEV);
	MUST(mount(folder, "/proc", NULL, MS_BIND, NULL) == 0);
	MUST(proc_write(getpid(), "oom_score_adj", "1000") < 0);
}

START_TEST(what_is_mounted_over_it_is_not_used)
{
	const char *folder = unit_folder();
	char text[16];

	(void)unit_file(folder, "oom_score_adj", "", 0);
	unit_child(replace_proc, (void *)(uintptr_t)folder);
	ck_assert_int_eq(io_read_file_at(AT_FDCWD, unit_path(folder, "oom_score_adj"),
					 text, sizeof(text)),
			 0);
}
END_TEST

Suite *jail_proc_suite(void)
{
	Suite *s = suite_create("jail proc");
	TCase *c = tcase_create("proc");

	tcase_add_test(c, own_files_are_read);
	tcase_add_test(c, own_files_are_written);
	tcase_add_test(c, what_is_mounted_over_it_is_not_used);
	suite_add_tcase(s, c);
	return s;
}
