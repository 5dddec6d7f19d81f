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

static struct buffer_bound learn(enum plan_net net)
{
	struct buffer_bound bound;
	struct err e = { 0 };

	ck_assert_msg(buffer_bound(net, &bound, &e) == 0, "%s", e.text);
	return bound;
}

static uint64_t one(void)
{
	return learn(NET_NONE).bytes;
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
	ck_assert_uint_le(held, one());
	/* and it is a bound that leaves room for programs */
	ck_assert_uint_le(one(), 2 * (uint64_t)room + 65536);
	(void)close(pair[0]);
	(void)close(pair[1]);
}
END_TEST

START_TEST(tcp_may_hold_more)
{
	ck_assert_uint_eq(learn(NET_NONE).inet_bytes, 0);
	ck_assert_uint_ge(learn(NET_LOOPBACK).inet_bytes, 10 * MIB);
	ck_assert_uint_eq(learn(NET_LOOPBACK).bytes, one());
}
END_TEST

static uint64_t used(const struct buffer_bound *bound, uint64_t *bytes)
{
	uint64_t sockets = 0;

	MUST(buffer_used(getpid(), bound, &sockets, bytes) == 0);
	return sockets;
}

static uint64_t own(void)
{
	return used(&(struct buffer_bound){ 1, 0 }, &(uint64_t){ 0 });
}

/* no socket is charged with TCP's room but for what the host's TCP has */
static void charge(void *arg)
{
	struct buffer_bound inet = { 1, 1 }, vast = { 0, 1ULL << 40 };
	uint64_t bytes, more;
	int pair[2];

	(void)arg;
	MUST(unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0);
	MUST(used(&vast, &bytes) == 0 && bytes == 0);
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	MUST(used(&inet, &bytes) == 2 && bytes == 4);
	MUST(used(&vast, &more) == 2 && more > 4 && more < 1ULL << 40);
}

START_TEST(tcp_holds_no_more_than_there_is)
{
	unit_child(charge, NULL);
}
END_TEST

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
	struct watch before = { 0 }, with = { 0 };
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
	MUST(with.memory_bytes >= before.memory_bytes + 4 * one());
	/* and where the exact sum is made, too */
	MUST(watch_sample(getpid(), 0, &with, &e) == 0);
	MUST(with.memory_bytes >= 4 * one());
	MUST(close(a[1]) == 0 && own() == 0);
}

START_TEST(every_socket_counts)
{
	unit_child(count, NULL);
}
END_TEST

START_TEST(nobody_has_none)
{
	struct buffer_bound bound = { 1, 1 };
	uint64_t sockets, bytes;

	ck_assert_int_eq(buffer_used(0x3fffffff, &bound, &sockets, &bytes), -ENOENT);
}
END_TEST

Suite *jail_buffer_suite(void)
{
	Suite *s = suite_create("jail buffer");
	TCase *c = tcase_create("buffer");

	tcase_add_test(c, no_socket_holds_more);
	tcase_add_test(c, tcp_may_hold_more);
	tcase_add_test(c, tcp_holds_no_more_than_there_is);
	tcase_add_test(c, every_socket_counts);
	tcase_add_test(c, nobody_has_none);
	suite_add_tcase(s, c);
	return s;
}
