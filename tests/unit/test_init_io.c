/* SPDX-License-Identifier: MIT */
/*
 * test_init_io.c - whole reads and writes, files by directory fd
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "init/io.h"
#include "tests/unit/suites.h"

/* a child that writes in pieces, so that every read(2) of the test comes up short */
static pid_t drip(int fd, const char *bytes, size_t length, size_t piece)
{
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid)
		return pid;
	for (size_t i = 0; i < length; i += piece) {
		size_t n = length - i < piece ? length - i : piece;

		if (write(fd, bytes + i, n) != (ssize_t)n)
			_exit(1);
		(void)usleep(500);
	}
	_exit(0);
}

START_TEST(read_all_takes_short_reads)
{
	static const char sent[] = "a message that arrives in pieces";
	char got[sizeof(sent)] = "";
	int ends[2], status;

	ck_assert_int_eq(pipe(ends), 0);

	pid_t pid = drip(ends[1], sent, sizeof(sent), 5);

	(void)close(ends[1]);
	ck_assert_int_eq(io_read_all(ends[0], got, sizeof(got)), sizeof(sent));
	ck_assert_str_eq(got, sent);
	/* and the end of file is a short count */
	ck_assert_int_eq(io_read_all(ends[0], got, sizeof(got)), 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	(void)close(ends[0]);
}
END_TEST

START_TEST(read_all_stops_at_the_end)
{
	char got[8] = "";
	int ends[2];

	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_eq(write(ends[1], "abc", 3), 3);
	(void)close(ends[1]);
	ck_assert_int_eq(io_read_all(ends[0], got, sizeof(got)), 3);
	ck_assert_str_eq(got, "abc");
	(void)close(ends[0]);
	ck_assert_int_eq(io_read_all(ends[0], got, sizeof(got)), -EBADF);
}
END_TEST

/* more than a pipe holds: write(2) blocks and takes it in parts */
START_TEST(write_all_writes_everything)
{
	enum { LENGTH = 1 << 20 };
	unsigned char *sent = malloc(LENGTH), *got = malloc(LENGTH);
	uint64_t state = 1;
	int ends[2], status;

	for (size_t i = 0; i < LENGTH; i++)
		sent[i] = (unsigned char)unit_random(&state);
	ck_assert_int_eq(pipe(ends), 0);

	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		(void)close(ends[0]);
		_exit(io_write_all(ends[1], sent, LENGTH) == 0 ? 0 : 1);
	}
	(void)close(ends[1]);
	ck_assert_int_eq(io_read_all(ends[0], got, LENGTH), LENGTH);
	ck_assert_int_eq(memcmp(sent, got, LENGTH), 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	(void)close(ends[0]);
	free(sent);
	free(got);
}
END_TEST

/* what others did to a shared pipe is no reason to lose anything */
START_TEST(write_all_waits_where_the_fd_does_not)
{
	enum { LENGTH = 300000 };
	static unsigned char sent[LENGTH], got[LENGTH];
	int ends[2], status;

	memset(sent, 'w', sizeof(sent));
	ck_assert_int_eq(pipe2(ends, O_NONBLOCK), 0);

	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		_exit(io_write_all(ends[1], sent, LENGTH) == 0 ? 0 : 1);
	(void)close(ends[1]);
	ck_assert_int_eq(fcntl(ends[0], F_SETFL, 0), 0);
	ck_assert_int_eq(io_read_all(ends[0], got, LENGTH), LENGTH);
	ck_assert_int_eq(memcmp(sent, got, LENGTH), 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	(void)close(ends[0]);
}
END_TEST

START_TEST(write_all_fails_with_errno)
{
	int ends[2];

	(void)signal(SIGPIPE, SIG_IGN);
	ck_assert_int_eq(pipe(ends), 0);
	(void)close(ends[0]);
	ck_assert_int_eq(io_write_all(ends[1], "x", 1), -EPIPE);
	ck_assert_int_eq(io_write_all(ends[1], "x", 0), 0);
	(void)close(ends[1]);
	ck_assert_int_eq(io_write_all(ends[1], "x", 1), -EBADF);
}
END_TEST

START_TEST(read_file_bounds)
{
	const char *folder = unit_folder();
	int dir = open(folder, O_RDONLY | O_DIRECTORY);
	char text[9];

	(void)unit_file(folder, "empty", "", 0);
	(void)unit_file(folder, "seven", "1234567", 7);
	(void)unit_file(folder, "eight", "12345678", 8);
	(void)unit_file(folder, "nine", "123456789", 9);
	(void)unit_file(folder, "nul", "ab\0cd", 5);
	ck_assert_int_eq(io_read_file_at(dir, "empty", text, sizeof(text)), 0);
	ck_assert_str_eq(text, "");
	ck_assert_int_eq(io_read_file_at(dir, "seven", text, sizeof(text)), 7);
	ck_assert_str_eq(text, "1234567");
	ck_assert_int_eq(io_read_file_at(dir, "eight", text, sizeof(text)), 8);
	ck_assert_str_eq(text, "12345678");
	ck_assert_int_eq(io_read_file_at(dir, "nine", text, sizeof(text)), -EFBIG);
	ck_assert_int_eq(io_read_file_at(dir, "nul", text, sizeof(text)), 5);
	ck_assert_int_eq(memcmp(text, "ab\0cd\0", 6), 0);
	ck_assert_int_eq(io_read_file_at(dir, "missing", text, sizeof(text)), -ENOENT);
	ck_assert_int_eq(io_read_file_at(dir, ".", text, sizeof(text)), -EISDIR);
	(void)close(dir);
}
END_TEST

/* and nothing is read behind it: each buffer is as large as it says, for ASan to see */
START_TEST(what_is_read_has_an_end)
{
	const char *folder = unit_folder();
	int dir = open(folder, O_RDONLY | O_DIRECTORY);
	static const struct {
		const char *name, *text;
	} rows[] = { { "nine", "12345678" },
		     { "pids", "12\n345\n6" },
		     { "missing", "" },
		     { ".", "" } };

	(void)unit_file(folder, "nine", "123456789", 9);
	(void)unit_file(folder, "pids", "12\n345\n678\n9", 12);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *text = malloc(9);

		ck_assert_ptr_nonnull(text);
		memset(text, 'x', 9);
		ck_assert_int_lt(io_read_file_at(dir, rows[i].name, text, 9), 0);
		ck_assert_str_eq(text, rows[i].text);
		free(text);
	}
	(void)close(dir);
}
END_TEST

START_TEST(files_refuse_symlinks)
{
	const char *folder = unit_folder();
	int dir = open(folder, O_RDONLY | O_DIRECTORY);
	char text[16];

	(void)unit_file(folder, "target", "old", 3);
	ck_assert_int_eq(symlinkat("target", dir, "link"), 0);
	ck_assert_int_eq(io_read_file_at(dir, "link", text, sizeof(text)), -ELOOP);
	ck_assert_int_eq(io_write_file_at(dir, "link", "new"), -ELOOP);
	ck_assert_int_eq(io_read_file_at(dir, "target", text, sizeof(text)), 3);
	ck_assert_str_eq(text, "old");
	(void)close(dir);
}
END_TEST

START_TEST(write_file_never_makes_one)
{
	const char *folder = unit_folder();
	int dir = open(folder, O_RDONLY | O_DIRECTORY);
	char text[16];

	ck_assert_int_eq(io_write_file_at(dir, "missing", "1"), -ENOENT);
	ck_assert_int_eq(faccessat(dir, "missing", F_OK, 0), -1);
	(void)unit_file(folder, "there", "", 0);
	ck_assert_int_eq(io_write_file_at(dir, "there", "max 100000"), 0);
	ck_assert_int_eq(io_read_file_at(dir, "there", text, sizeof(text)), 10);
	ck_assert_str_eq(text, "max 100000");
	/* a full device: the kernel's answer comes through */
	ck_assert_int_eq(io_write_file_at(AT_FDCWD, "/dev/full", "x"), -ENOSPC);
	(void)close(dir);
}
END_TEST

START_TEST(cleanups_close_and_free)
{
	int kept;

	{
		cleanup_fd int fd = dup(STDERR_FILENO);
		cleanup_fd int none = -1;
		cleanup_free char *text = strdup("freed: a leak checker would tell");

		kept = fd;
		errno = 77;
		ck_assert(none == -1 && text);
	}
	ck_assert_int_eq(errno, 77);
	ck_assert_int_eq(fcntl(kept, F_GETFD), -1);

	int fd = dup(STDERR_FILENO);

	io_close_fd(&fd);
	ck_assert_int_eq(fd, -1);
	io_close_fd(&fd);
}
END_TEST

START_TEST(opened_files_are_closed_again)
{
	const char *folder = unit_folder();
	char text[4];
	int before = dup(STDERR_FILENO);

	(void)close(before);
	(void)unit_file(folder, "big", "12345", 5);
	ck_assert_int_eq(io_read_file_at(AT_FDCWD, unit_path(folder, "big"), text, 4),
			 -EFBIG);
	ck_assert_int_eq(io_write_file_at(AT_FDCWD, unit_path(folder, "big"), "x"), 0);

	int after = dup(STDERR_FILENO);

	ck_assert_int_eq(after, before);
	(void)close(after);
}
END_TEST

Suite *init_io_suite(void)
{
	Suite *s = suite_create("init io");
	TCase *c = tcase_create("io");

	tcase_add_test(c, read_all_takes_short_reads);
	tcase_add_test(c, read_all_stops_at_the_end);
	tcase_add_test(c, write_all_writes_everything);
	tcase_add_test(c, write_all_waits_where_the_fd_does_not);
	tcase_add_test(c, write_all_fails_with_errno);
	tcase_add_test(c, read_file_bounds);
	tcase_add_test(c, what_is_read_has_an_end);
	tcase_add_test(c, files_refuse_symlinks);
	tcase_add_test(c, write_file_never_makes_one);
	tcase_add_test(c, cleanups_close_and_free);
	tcase_add_test(c, opened_files_are_closed_again);
	suite_add_tcase(s, c);
	return s;
}
