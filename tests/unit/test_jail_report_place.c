/* SPDX-License-Identifier: MIT */
/*
 * test_jail_report_place.c - where a report goes: files, fds, and what is refused
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "init/io.h"
#include "jail/report.h"
#include "tests/unit/suites.h"

START_TEST(a_report_may_go_to_an_fd)
{
	struct jail jail = JAIL_NONE;
	char number[16], text[16];
	struct err e = { 0 };
	int ends[2];

	ck_assert_int_eq(pipe(ends), 0);
	(void)snprintf(number, sizeof(number), "%d", ends[1]);

	int fd = report_open(number, &e);

	ck_assert_msg(fd >= 3 && fd != ends[1], "%s", e.text);
	ck_assert_int_eq(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	/* nor does the one that was given reach the program */
	ck_assert_int_eq(fcntl(ends[1], F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	ck_assert_int_eq(report_write(fd, &jail, &(struct outcome){ 0 },
				      &(struct judgement){ .verdict = VERDICT_EXITED },
				      &e),
			 0);
	ck_assert_int_eq(io_read_all(ends[0], text, 12), 12);
	ck_assert_int_eq(memcmp(text, "{\"stepjail\":", 12), 0);
	(void)close(fd);
	(void)close(ends[0]);
	(void)close(ends[1]);
}
END_TEST

START_TEST(bad_places_are_refused)
{
	static const char *const rows[] = { "987", "99999999999999999999", "65536",
					    "/nowhere/at/all.json", "/" };
	int read_only = open("/dev/null", O_RDONLY);
	char number[16];
	struct err e = { 0 };

	for (size_t i = 0; i < COUNT(rows); i++) {
		e = (struct err){ 0 };
		ck_assert_msg(report_open(rows[i], &e) < -1, "%s", rows[i]);
		ck_assert_int_eq(strncmp(e.text, "--report: ", 10), 0);
	}
	(void)snprintf(number, sizeof(number), "%d", read_only);
	ck_assert_int_lt(report_open(number, &e), -1);
	ck_assert_ptr_nonnull(strstr(e.text, "not open for writing"));
	(void)close(read_only);
	ck_assert_int_eq(report_open(NULL, &e), -1);
}
END_TEST

/* an earlier jail could have left it, in a folder that it may write to */
START_TEST(a_report_follows_no_symlink)
{
	const char *folder = unit_folder();
	char text[8];
	struct err e;

	(void)unit_file(folder, "secret", "secret", 6);
	ck_assert_int_eq(symlink("secret", unit_path(folder, "link")), 0);
	ck_assert_int_lt(report_open(unit_path(folder, "link"), &e), -1);
	ck_assert_ptr_nonnull(strstr(e.text, "is a symlink"));
	ck_assert_int_eq(io_read_file_at(AT_FDCWD, unit_path(folder, "secret"), text,
					 sizeof(text)),
			 6);
}
END_TEST

/* EPERM is errno 1, and -1 says "no report is wanted": the one must not pass for the
 * other */
START_TEST(a_refused_report_is_not_no_report)
{
	char path[64];
	struct err e = { 0 };
	int fd = memfd_create("report", MFD_ALLOW_SEALING | MFD_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, "x", 1), 1);
	/* cannot be truncated: open(2) with O_TRUNC says EPERM */
	ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	(void)snprintf(path, sizeof(path), "/dev/fd/%d", fd);

	int r = report_open(path, &e);

	ck_assert_int_eq(e.errnum, EPERM);
	ck_assert_msg(r < -1, "report_open() returns %d", r);
	(void)close(fd);
}
END_TEST

START_TEST(a_report_that_cannot_be_written_is_an_error)
{
	struct jail jail = JAIL_NONE;
	struct err e = { 0 };
	int fd = report_open("/dev/full", &e);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(report_write(fd, &jail, &(struct outcome){ 0 },
				      &(struct judgement){ 0 }, &e),
			 -ENOSPC);
	ck_assert_int_eq(strncmp(e.text, "--report: ", 10), 0);
	(void)close(fd);
	/* and none is wanted at -1 */
	ck_assert_int_eq(report_write(-1, &jail, &(struct outcome){ 0 },
				      &(struct judgement){ 0 }, &e),
			 0);
}
END_TEST

START_TEST(an_old_report_is_gone)
{
	const char *path = unit_file(unit_folder(), "old.json", "old old old", 11);
	struct stat st;
	struct err e = { 0 };
	int fd = report_open(path, &e);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(st.st_size, 0);
	(void)close(fd);
}
END_TEST

Suite *jail_report_place_suite(void)
{
	Suite *s = suite_create("jail report place");
	TCase *c = tcase_create("report place");

	tcase_add_test(c, a_report_may_go_to_an_fd);
	tcase_add_test(c, bad_places_are_refused);
	tcase_add_test(c, a_report_follows_no_symlink);
	tcase_add_test(c, a_refused_report_is_not_no_report);
	tcase_add_test(c, a_report_that_cannot_be_written_is_an_error);
	tcase_add_test(c, an_old_report_is_gone);
	suite_add_tcase(s, c);
	return s;
}
