/* SPDX-License-Identifier: MIT */
/*
 * test_jail_pass.c - packets with fds beside them
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "jail/base/fd_passing.h"
#include "tests/unit/suites.h"

static int ends[2];

static void begin(void)
{
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
}

static void done(void)
{
	(void)close(ends[0]);
	(void)close(ends[1]);
}

START_TEST(fds_come_close_on_exec)
{
	const int sent[3] = { 0, 1, 2 };
	int got[5];
	char text[4] = "";

	begin();
	ck_assert_int_eq(fd_passing_send(ends[0], "abc", 4, sent, 3), 0);
	ck_assert_int_eq(fd_passing_receive(ends[1], text, 4, got, 5), 3);
	ck_assert_str_eq(text, "abc");
	ck_assert_int_eq(got[3], -1);
	ck_assert_int_eq(got[4], -1);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_gt(got[i], 2);
		ck_assert_int_eq(fcntl(got[i], F_GETFD), FD_CLOEXEC);
		(void)close(got[i]);
	}
	ck_assert_int_eq(fd_passing_send(ends[0], "abc", 4, NULL, 0), 0);
	ck_assert_int_eq(fd_passing_receive(ends[1], text, 4, got, 0), 0);
	done();
}
END_TEST

/* and what came with it is not kept */
START_TEST(nonsense_is_refused)
{
	static const struct {
		size_t sent, expected, fds, room;
	} rows[] = { { 3, 4, 2, 4 }, { 5, 4, 2, 4 }, { 4, 4, 3, 2 }, { 4, 4, 1, 0 } };
	const int sent[3] = { 0, 1, 2 };

	begin();
	for (size_t i = 0; i < COUNT(rows); i++) {
		int got[4], before = unit_fds();
		char text[8];

		ck_assert_int_eq(fd_passing_send(ends[0], "abcdefg", rows[i].sent, sent,
						 rows[i].fds),
				 0);
		ck_assert_int_eq(fd_passing_receive(ends[1], text, rows[i].expected, got,
						    rows[i].room),
				 -EBADMSG);
		ck_assert_int_eq(unit_fds(), before);
	}
	done();
}
END_TEST

START_TEST(an_end_is_no_packet)
{
	int fds[FD_PASSING_FDS_MAX + 1] = { 0 };
	char text[4];

	begin();
	ck_assert_int_eq(fd_passing_send(ends[0], text, 4, fds, FD_PASSING_FDS_MAX + 1),
			 -EINVAL);
	(void)close(ends[0]);
	ck_assert_int_eq(fd_passing_receive(ends[1], text, 4, fds, 1), -EPIPE);
	ck_assert_int_eq(fd_passing_send(ends[1], text, 4, NULL, 0), -EPIPE);
	done();
}
END_TEST

Suite *jail_pass_suite(void)
{
	Suite *s = suite_create("jail pass");
	TCase *c = tcase_create("pass");

	tcase_add_test(c, fds_come_close_on_exec);
	tcase_add_test(c, nonsense_is_refused);
	tcase_add_test(c, an_end_is_no_packet);
	suite_add_tcase(s, c);
	return s;
}
