/* SPDX-License-Identifier: MIT */
/*
 * test_jail_report_place.c - where a report goes: files, fds, and what is refused
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "init/io.h"
#include "jail/watch/report.h"
#include "tests/unit/suites.h"

/* -1 and what is said, or the fd */
static int open_report(const char *spec, struct err *e)
{
	int fd = -1, r = report_open(spec, 0, &fd, e);

	ck_assert_int_eq(r < 0, fd < 0 && spec);
	return fd;
}

static void ck_fd(const char *spec, int given, int read_end)
{
	struct jail jail = JAIL_NONE;
	char text[4096];
	struct err e = { 0 };
	int fd = open_report(spec, &e);

	ck_assert_msg(fd >= 3 && fd != given, "%s: %s", spec, e.text);
	ck_assert_int_eq(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	ck_assert_int_eq(report_write(fd, &jail, &(struct outcome){ 0 },
				      &(struct judgement){ .verdict = VERDICT_EXITED },
				      &e),
			 0);
	ck_assert_int_gt(read(read_end, text, sizeof(text)), 12);
	ck_assert_int_eq(memcmp(text, "{\"stepjail\":", 12), 0);
	(void)close(fd);
}

/* by its number, or by its name in /dev: that, too, is the fd, and no path */
START_TEST(a_report_may_go_to_an_fd)
{
	char number[16], name[32];
	int ends[2], out = dup(1), err = dup(2);

	ck_assert_int_eq(pipe(ends), 0);
	(void)snprintf(number, sizeof(number), "%d", ends[1]);
	(void)snprintf(name, sizeof(name), "/dev/fd/%d", ends[1]);
	ck_fd(number, ends[1], ends[0]);
	/* nor does the one that was given reach the program */
	ck_assert_int_eq(fcntl(ends[1], F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	ck_fd(name, ends[1], ends[0]);
	(void)dup2(ends[1], 1);
	ck_fd("/dev/stdout", 1, ends[0]);
	(void)dup2(out, 1);
	(void)dup2(ends[1], 2);
	ck_fd("/dev/stderr", 2, ends[0]);
	(void)dup2(err, 2);
	(void)close(out);
	(void)close(err);
	(void)close(ends[0]);
	(void)close(ends[1]);
}
END_TEST

/* a file that the caller redirected has what the program printed: it is not cut */
START_TEST(an_fd_by_its_name_is_not_truncated)
{
	const char *path = unit_file(unit_folder(), "out", "printed", 7);
	char name[32], text[16];
	struct err e = { 0 };
	int given = open(path, O_WRONLY | O_APPEND);

	(void)snprintf(name, sizeof(name), "/dev/fd/%d", given);
	(void)close(open_report(name, &e));
	(void)close(given);
	ck_assert_int_eq(io_read_file_at(AT_FDCWD, path, text, sizeof(text)), 7);
}
END_TEST

START_TEST(bad_places_are_refused)
{
	static const char *const rows[] = { "987",      "99999999999999999999",
					    "65536",    "/nowhere/at/all.json",
					    "/",        "/dev/fd/987",
					    "/dev/fd/", "/dev/fd/1/x",
					    "" };
	int read_only = open("/dev/null", O_RDONLY);
	char number[16];
	struct err e = { 0 };

	for (size_t i = 0; i < COUNT(rows); i++) {
		e = (struct err){ 0 };
		ck_assert_msg(open_report(rows[i], &e) < 0, "%s", rows[i]);
		ck_assert_int_eq(strncmp(e.text, "--report: ", 10), 0);
	}
	(void)snprintf(number, sizeof(number), "%d", read_only);
	ck_assert_int_lt(open_report(number, &e), 0);
	ck_assert_ptr_nonnull(strstr(e.text, "not open for writing"));
	(void)close(read_only);
	ck_assert_int_eq(open_report(NULL, &e), -1);
}
END_TEST

/* an earlier jail could have left it, in a folder that it may write to: the file itself,
 * or a folder on the way to it. In /dev, too, there are such folders. */
START_TEST(a_report_follows_no_symlink)
{
	char in_dev[] = "/dev/shm/stepjail-unit-XXXXXX";
	const char *folders[] = { unit_folder(), mkdtemp(in_dev) };
	char text[8];
	struct err e;

	for (size_t i = 0; i < COUNT(folders); i++) {
		const char *folder = folders[i];

		(void)unit_file(folder, "secret", "secret", 6);
		ck_assert_int_eq(symlink("secret", unit_path(folder, "link")), 0);
		ck_assert_int_eq(symlink(".", unit_path(folder, "on")), 0);
		ck_assert_int_lt(open_report(unit_path(folder, "link"), &e), 0);
		ck_assert_ptr_nonnull(strstr(e.text, "symlink"));
		ck_assert_int_lt(open_report(unit_path(folder, "on/secret"), &e), 0);
		ck_assert_ptr_nonnull(strstr(e.text, "symlink"));
		ck_assert_int_lt(open_report(unit_path(folder, "on/new"), &e), 0);
		ck_assert_int_eq(access(unit_path(folder, "new"), F_OK), -1);
		ck_assert_int_eq(io_read_file_at(AT_FDCWD, unit_path(folder, "secret"),
						 text, sizeof(text)),
				 6);
		(void)unlink(unit_path(folder, "on"));
		(void)unlink(unit_path(folder, "link"));
		(void)unlink(unit_path(folder, "secret"));
		(void)rmdir(folder);
	}
}
END_TEST

/* one that a jail left would hold up the launcher for as long as the jail likes */
START_TEST(a_report_goes_into_no_fifo)
{
	const char *path = unit_path(unit_folder(), "fifo");
	struct err e;

	ck_assert_int_eq(mkfifo(path, 0666), 0);
	for (int reader = -1, i = 0; i < 2; i++) {
		ck_assert_int_lt(open_report(path, &e), 0);
		ck_assert_ptr_nonnull(strstr(e.text, "/fifo is neither a file"));
		if (i == 0)
			reader = open(path, O_RDONLY | O_NONBLOCK);
		ck_assert_int_ge(reader, 0);
	}
}
END_TEST

START_TEST(a_report_that_cannot_be_written_is_an_error)
{
	struct jail jail = JAIL_NONE;
	struct err e = { 0 };
	int fd = open_report("/dev/full", &e);

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
	int fd = open_report(path, &e);

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
	tcase_add_test(c, an_fd_by_its_name_is_not_truncated);
	tcase_add_test(c, a_report_goes_into_no_fifo);
	tcase_add_test(c, a_report_that_cannot_be_written_is_an_error);
	tcase_add_test(c, an_old_report_is_gone);
	suite_add_tcase(s, c);
	return s;
}
