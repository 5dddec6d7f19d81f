/* SPDX-License-Identifier: MIT */
/*
 * test_jail_procfs.c - files of a process in /proc, and of no other folder
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jail/base/procfs.h"
#include "tests/unit/suites.h"

START_TEST(own_files_are_read)
{
	char text[8192], pid[32], small[8];

	ck_assert_int_gt(procfs_read(getpid(), "status", text, sizeof(text)), 0);
	(void)snprintf(pid, sizeof(pid), "\nPid:\t%d\n", getpid());
	ck_assert_ptr_nonnull(strstr(text, pid));
	ck_assert_int_eq(procfs_read(getpid(), "status", small, sizeof(small)), -EFBIG);
	ck_assert_int_eq(procfs_read(getpid(), "nothing", text, sizeof(text)), -ENOENT);
	ck_assert_int_eq(procfs_read(0x3fffffff, "status", text, sizeof(text)), -ENOENT);
}
END_TEST

static void write_own(void *arg)
{
	char text[16];

	(void)arg;
	MUST(procfs_write_at(procfs_open(getpid()), "oom_score_adj", "1000") == 0);
	MUST(procfs_read(getpid(), "oom_score_adj", text, sizeof(text)) > 0);
	MUST(strcmp(text, "1000\n") == 0);
}

START_TEST(own_files_are_written)
{
	unit_child(write_own, NULL);
}
END_TEST

START_TEST(no_symlink_is_followed)
{
	char text[64];
	int dir = procfs_open(getpid());

	ck_assert_int_ge(dir, 0);
	ck_assert_int_ge(fcntl(dir, F_GETFD), FD_CLOEXEC);
	ck_assert_int_eq(procfs_read_at(dir, "exe", text, sizeof(text)), -ELOOP);
	ck_assert_int_eq(procfs_read_at(dir, "cwd/README.md", text, sizeof(text)),
			 -ELOOP);
	ck_assert_int_eq(procfs_write_at(procfs_open(getpid()), "fd/1", "x"), -ELOOP);
	ck_assert_int_eq(procfs_write_at(procfs_open(getpid()), "nothing", "x"), -ENOENT);
	(void)close(dir);
}
END_TEST

/* something lies over a file; over the whole of /proc; over it, and looks like it */
static void cover(void *arg)
{
	char path[64], text[64];

	(void)arg;
	if (!unit_namespace(CLONE_NEWNS))
		return;
	MUST(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	(void)snprintf(path, sizeof(path), "/proc/%d/comm", getpid());
	MUST(mount("/dev/null", path, NULL, MS_BIND, NULL) == 0);
	MUST(procfs_read(getpid(), "comm", text, sizeof(text)) == -EXDEV);
	MUST(procfs_write_at(procfs_open(getpid()), "comm", "x") == -EXDEV);
	MUST(procfs_read(getpid(), "stat", text, 4) == -EFBIG);

	MUST(mount("none", "/proc", "tmpfs", 0, NULL) == 0);
	MUST(procfs_open(getpid()) == -ENOENT);
	(void)snprintf(path, sizeof(path), "/proc/%d", getpid());
	MUST(mkdir(path, 0755) == 0);
	MUST(symlink(path + strlen("/proc/"), "/proc/self") == 0);
	MUST(procfs_open(getpid()) == -EXDEV);
}

START_TEST(what_covers_it_is_refused)
{
	unit_child(cover, NULL);
}
END_TEST

static void in_new_namespace(void *arg)
{
	char text[64];

	(void)arg;
	MUST(getpid() == 1);
	/* there is a 1 in the outer /proc, but not this one */
	MUST(procfs_open(1) == -EXDEV);
	MUST(procfs_read(1, "comm", text, sizeof(text)) == -EXDEV);
	MUST(procfs_write_at(procfs_open(1), "oom_score_adj", "0") == -EXDEV);
}

static void make_namespace(void *arg)
{
	(void)arg;
	if (unit_namespace(CLONE_NEWPID))
		unit_child(in_new_namespace, NULL);
}

START_TEST(the_proc_of_another_namespace_is_refused)
{
	unit_child(make_namespace, NULL);
}
END_TEST

START_TEST(numbers_are_found_at_the_beginning_of_a_line)
{
	static const char text[] = "Name:\tVmPTE:\t7\nVmPTE:\t     124 kB\n"
				   "SigBlk:\tfffffffffffbfeff\nThreads:\t1\n";

	ck_assert_uint_eq(procfs_number(text, "VmPTE:", 10), 124);
	ck_assert_uint_eq(procfs_number(text, "SigBlk:", 16), 0xfffffffffffbfeff);
	ck_assert_uint_eq(procfs_number(text, "Threads:", 10), 1);
	ck_assert_uint_eq(procfs_number(text, "hreads:", 10), 0);
	ck_assert_str_eq(procfs_find(text, "Threads:"), "\t1\n");
	ck_assert_str_eq(procfs_find(text, "Name:"), text + 5);
	ck_assert_ptr_null(procfs_find(text, "PPid:"));
	ck_assert_ptr_null(procfs_find("", "PPid:"));
	ck_assert_uint_eq(procfs_status(getpid(), "PPid:"), (uint64_t)getppid());
	ck_assert_uint_eq(procfs_status(0x3fffffff, "PPid:"), 0);
}
END_TEST

START_TEST(words_of_a_list_are_whole)
{
	ck_assert(procfs_lists("ro,nosuid,nodev", "nosuid", ","));
	ck_assert(procfs_lists("ro", "ro", ","));
	ck_assert(procfs_lists("cpuset cpu\n", "cpu", " \n"));
	ck_assert(procfs_lists("noexec2,noexec", "noexec", ","));
	ck_assert(!procfs_lists("errors=remount-ro", "ro", ","));
	ck_assert(!procfs_lists("cpuset io\n", "cpu", " \n"));
	ck_assert(!procfs_lists("a cpu", "cpu", ","));
	ck_assert(!procfs_lists("", "cpu", ","));
}
END_TEST

/* those of no process are in every list; who waits is one, too */
START_TEST(locks_of_processes_are_counted)
{
	static const char lines[] = "1: POSIX  ADVISORY  WRITE 12 00:0e:1051 0 0\n"
				    "1: -> POSIX  ADVISORY  WRITE 13 00:0e:1051 0 0\n"
				    "2: OFDLCK ADVISORY  READ  -1 00:0e:1051 10 10\n"
				    "3: POSIX  ADVISORY  READ  -77 00:2a:5 0 EOF\n"
				    "4: FLOCK  ADVISORY  WRITE 2 fe:01:9 0 EOF\n"
				    "5: LEASE  ACTIVE    WRITE 2 00:31:4 0 EOF\n";
	const char *folder = unit_folder();
	/* -1 first, where a count is lowest, and then more than one buffer of lines */
	int few = open(unit_file(folder, "few", lines, sizeof(lines) - 1), O_RDONLY);
	int other =
		open(unit_file(folder, "other", strstr(lines, "2: OFD"), 46), O_RDONLY);
	int gone = open("/dev/null", O_RDONLY | O_PATH);
	char *many = malloc(1000 * sizeof(lines));
	int all;

	for (size_t i = 0; i < 1000; i++)
		memcpy(many + i * (sizeof(lines) - 1), lines, sizeof(lines) - 1);
	all = open(unit_file(folder, "many", many, 1000 * (sizeof(lines) - 1)), O_RDONLY);
	for (int again = 0; again < 2; again++) {
		ck_assert_int_eq(procfs_locks_exceed(few, 4), 0);
		ck_assert_int_eq(procfs_locks_exceed(few, 3), 1);
		ck_assert_int_eq(procfs_locks_exceed(other, 0), 0);
		ck_assert_int_eq(procfs_locks_exceed(all, 4000), 0);
		ck_assert_int_eq(procfs_locks_exceed(all, 3999), 1);
	}
	ck_assert_int_eq(procfs_locks_exceed(few, UINT64_MAX), 0);
	ck_assert_int_lt(procfs_locks_exceed(gone, 1), 0);
	free(many);
}
END_TEST

Suite *jail_procfs_suite(void)
{
	Suite *s = suite_create("jail procfs");
	TCase *c = tcase_create("procfs");

	tcase_add_test(c, own_files_are_read);
	tcase_add_test(c, numbers_are_found_at_the_beginning_of_a_line);
	tcase_add_test(c, words_of_a_list_are_whole);
	tcase_add_test(c, own_files_are_written);
	tcase_add_test(c, no_symlink_is_followed);
	tcase_add_test(c, what_covers_it_is_refused);
	tcase_add_test(c, the_proc_of_another_namespace_is_refused);
	tcase_add_test(c, locks_of_processes_are_counted);
	suite_add_tcase(s, c);
	return s;
}
