/* SPDX-License-Identifier: MIT */
/*
 * test_jail_buffer.c - sockets of a network namespace, counted, and what one can hold
 */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "jail/buffer.h"
#include "jail/watch.h"
#include "tests/unit/suites.h"

#define MIB (1ULL << 20)

static uint64_t bound(enum plan_net net)
{
	struct err e = { 0 };
	uint64_t bytes = 0;

	ck_assert_msg(buffer_bound(net, &bytes, &e) == 0, "%s", e.text);
	return bytes;
}

/* as full as it gets: nearly, and then one more message that is as large as it may be */
START_TEST(no_socket_holds_more)
{
	static const size_t less[] = { 16384, 32, 32 };
	static char message[16 << 20];
	int pair[2], room;
	socklen_t size = sizeof(room);
	uint64_t held = 0;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, pair), 0);
	ck_assert_int_eq(getsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &room, &size), 0);
	ck_assert_uint_lt((size_t)room, sizeof(message));
	for (size_t i = 0; i < COUNT(less); i++) {
		ssize_t n = send(pair[0], message, (size_t)room - less[i], 0);

		held += n > 0 ? (uint64_t)n : 0;
	}
	ck_assert_uint_gt(held, (uint64_t)room);
	ck_assert_uint_le(held, bound(NET_NONE));
	/* and it is a bound that leaves room for programs */
	ck_assert_uint_le(bound(NET_NONE), 2 * (uint64_t)room + 65536);
	(void)close(pair[0]);
	(void)close(pair[1]);
}
END_TEST

START_TEST(tcp_may_hold_more)
{
	ck_assert_uint_ge(bound(NET_LOOPBACK), bound(NET_NONE) + 10 * MIB);
}
END_TEST

static long own(void)
{
	return buffer_sockets(getpid());
}

/* in a namespace of its own, where nobody else has any */
static void count(void *arg)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(2 * sizeof(int))];
	} control = { .head = { CMSG_LEN(2 * sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	struct iovec byte = { control.room, 1 };
	struct msghdr message = { .msg_iov = &byte,
				  .msg_iovlen = 1,
				  .msg_control = control.room,
				  .msg_controllen = sizeof(control.room) };
	int a[2], b[2];
	struct watch before, with;
	struct err e = { 0 };

	(void)arg;
	MUST(unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0);
	MUST(own() == 0);
	MUST(watch_check(getpid(), NET_NONE, &e) == 0);
	MUST(watch_sample(getpid(), NO_LIMIT, &before, &e) == 0);
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, a) == 0 && own() == 2);
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, b) == 0 && own() == 4);
	memcpy(CMSG_DATA(&control.head), b, sizeof(b));
	MUST(sendmsg(a[0], &message, 0) == 1);
	/* under way in a message */
	MUST(close(b[0]) == 0 && close(b[1]) == 0 && own() == 4);
	/* its own fd is closed, what it sent is there */
	MUST(close(a[0]) == 0 && own() == 4);
	MUST(watch_sample(getpid(), NO_LIMIT, &with, &e) == 0);
	MUST(with.memory_bytes >= before.memory_bytes + 4 * bound(NET_NONE));
	/* and where the exact sum is made, too */
	MUST(watch_sample(getpid(), 0, &with, &e) == 0);
	MUST(with.memory_bytes >= 4 * bound(NET_NONE));
	MUST(close(a[1]) == 0 && own() == 0);
}

START_TEST(every_socket_counts)
{
	unit_child(count, NULL);
}
END_TEST

START_TEST(nobody_has_none)
{
	ck_assert_int_eq(buffer_sockets(0x3fffffff), -ENOENT);
}
END_TEST

Suite *jail_buffer_suite(void)
{
	Suite *s = suite_create("jail buffer");
	TCase *c = tcase_create("buffer");

	tcase_add_test(c, no_socket_holds_more);
	tcase_add_test(c, tcp_may_hold_more);
	tcase_add_test(c, every_socket_counts);
	tcase_add_test(c, nobody_has_none);
	suite_add_tcase(s, c);
	return s;
}
