/* SPDX-License-Identifier: MIT */
/*
 * test_jail_fd_passing.c - packets with fds beside them
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

/* of a stream as well; more fds than there is room for are closed, and counted */
START_TEST(what_came_beside_a_message_is_taken)
{
	const int sent[3] = { 0, 1, 2 };
	char bytes[16], room[256];
	struct iovec iov = { bytes, sizeof(bytes) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct ucred sender = { .pid = -1 };
	int got, before, on = 1;

	begin();
	before = unit_fds();
	for (int credentials = 0; credentials < 2; credentials++) {
		ck_assert_int_eq(fd_passing_send(ends[0], "abc", 4, sent, 3), 0);
		msg.msg_control = room;
		msg.msg_controllen = sizeof(room);
		ck_assert_int_eq(recvmsg(ends[1], &msg, MSG_CMSG_CLOEXEC), 4);
		ck_assert_uint_eq(fd_passing_take(&msg, &got, 1, &sender), 3);
		ck_assert_int_gt(got, 2);
		(void)close(got);
		ck_assert_int_eq(unit_fds(), before);
		ck_assert_int_eq(sender.pid, credentials ? getpid() : -1);
		ck_assert_int_eq(
			setsockopt(ends[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)), 0);
	}
	/* nothing came */
	msg.msg_controllen = 0;
	ck_assert_uint_eq(fd_passing_take(&msg, &got, 1, NULL), 0);
	ck_assert_int_eq(got, -1);
	done();
}
END_TEST

/* an empty packet is taken for the end; the fds beside it are not kept */
START_TEST(an_empty_packet_leaves_no_fd)
{
	const int sent[1] = { 0 };
	char text[4];
	int got, before;

	begin();
	before = unit_fds();
	ck_assert_int_eq(fd_passing_send(ends[0], "", 0, sent, 1), 0);
	ck_assert_int_eq(fd_passing_receive(ends[1], text, 4, &got, 1), -EPIPE);
	ck_assert_int_eq(got, -1);
	ck_assert_int_eq(unit_fds(), before);
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

Suite *jail_fd_passing_suite(void)
{
	Suite *s = suite_create("jail fd passing");
	TCase *c = tcase_create("fd passing");

	tcase_add_test(c, fds_come_close_on_exec);
	tcase_add_test(c, nonsense_is_refused);
	tcase_add_test(c, what_came_beside_a_message_is_taken);
	tcase_add_test(c, an_empty_packet_leaves_no_fd);
	tcase_add_test(c, an_end_is_no_packet);
	suite_add_tcase(s, c);
	return s;
}
