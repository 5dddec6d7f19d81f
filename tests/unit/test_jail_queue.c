/* SPDX-License-Identifier: MIT */
/*
 * test_jail_queue.c - frames for a client that reads slowly, and packets with credentials
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "init/io.h"
#include "init/wire.h"
#include "jail/base/fd_passing.h"
#include "jail/serve/wire/channel.h"
#include "jail/serve/wire/closer.h"
#include "jail/serve/wire/packet.h"
#include "jail/serve/wire/queue.h"
#include "tests/unit/suites.h"
#include "tests/wire_recv.h"

static void ck_frame(int fd, uint16_t type, uint32_t step, const char *payload)
{
	static unsigned char bytes[WIRE_PAYLOAD_MAX];
	struct wire_header h;

	ck_assert_int_eq(wire_recv(fd, &h, bytes, sizeof(bytes)), 0);
	ck_assert_uint_eq(h.type, type);
	ck_assert_uint_eq(h.step, step);
	ck_assert_uint_eq(h.length, strlen(payload));
	ck_assert_mem_eq(bytes, payload, h.length);
}

START_TEST(frames_come_out_as_they_went_in)
{
	struct queue q = { 0 };
	int ends[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	ck_assert_int_eq(queue_send(&q, ends[0]), 0);
	ck_assert_int_eq(queue_put(&q, WIRE_OUT, 7, "ab", 2, "cde", 3), 0);
	ck_assert_int_eq(queue_put(&q, WIRE_DONE, 8, NULL, 0, NULL, 0), 0);
	ck_assert_int_eq(queue_put(&q, WIRE_ERR, 9, NULL, 0, "x", 1), 0);
	ck_assert_uint_eq(queue_length(&q), 3 * WIRE_HEADER_BYTES + 6);
	ck_assert_int_eq(queue_send(&q, ends[0]), 0);
	ck_assert_uint_eq(queue_length(&q), 0);
	ck_frame(ends[1], WIRE_OUT, 7, "abcde");
	ck_frame(ends[1], WIRE_DONE, 8, "");
	ck_frame(ends[1], WIRE_ERR, 9, "x");
	queue_end(&q);
	(void)close(ends[0]);
	(void)close(ends[1]);
}
END_TEST

START_TEST(a_frame_has_a_bound)
{
	static char big[WIRE_PAYLOAD_MAX + 1];
	struct queue q = { 0 };

	ck_assert_int_eq(queue_put(&q, WIRE_OUT, 1, big, 1, big, WIRE_PAYLOAD_MAX),
			 -EMSGSIZE);
	ck_assert_uint_eq(queue_length(&q), 0);
	ck_assert_int_eq(queue_put(&q, WIRE_OUT, 1, big, 1, big, WIRE_PAYLOAD_MAX - 1),
			 0);
	queue_end(&q);
}
END_TEST

/* a reader that takes a little at a time gets every byte, in order, and nothing is
 * lost */
START_TEST(what_is_not_read_waits)
{
	enum { FRAMES = 200, LENGTH = 30000 };
	static char payload[LENGTH + 1];
	struct queue q = { 0 };
	unsigned int got = 0;
	int ends[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	for (unsigned int i = 0; i < FRAMES; i++) {
		memset(payload, 'a' + (int)(i % 26), LENGTH);
		ck_assert_int_eq(queue_put(&q, WIRE_OUT, i, payload, LENGTH, NULL, 0), 0);
		ck_assert_int_eq(queue_send(&q, ends[0]) < 0, 0);
	}
	ck_assert_uint_gt(queue_length(&q), QUEUE_HIGH);
	while (got < FRAMES) {
		memset(payload, 'a' + (int)(got % 26), LENGTH);
		ck_frame(ends[1], WIRE_OUT, got++, payload);
		ck_assert_int_ge(queue_send(&q, ends[0]), 0);
	}
	ck_assert_uint_eq(queue_length(&q), 0);
	/* and its memory is given back */
	ck_assert_uint_eq(q.room, 0);
	(void)close(ends[0]);
	(void)close(ends[1]);
}
END_TEST

START_TEST(a_reader_that_is_gone_is_told)
{
	struct queue q = { 0 };
	int ends[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	(void)close(ends[1]);
	ck_assert_int_eq(queue_put(&q, WIRE_OUT, 1, "x", 1, NULL, 0), 0);
	ck_assert_int_eq(queue_send(&q, ends[0]), -EPIPE);
	queue_end(&q);
	(void)close(ends[0]);
}
END_TEST

static unsigned char taken[STEP_TEXT_MAX];

START_TEST(a_packet_tells_who_sent_it)
{
	struct wire_header h;
	struct err e;
	pid_t who = 0;
	int out, in;

	ck_assert_int_eq(channel_pair(&out, &in, &e), 0);
	ck_assert_int_eq(packet_receive(out, &h, taken, &who), -EAGAIN);
	ck_assert_int_eq(packet_send(in, &(struct wire_header){ 3, WIRE_RESULT, 5 },
				     "abc", NULL, 0),
			 0);
	ck_assert_int_eq(packet_receive(out, &h, taken, &who), 1);
	ck_assert_int_eq(who, getpid());
	ck_assert_uint_eq(h.type, WIRE_RESULT);
	ck_assert_uint_eq(h.step, 5);
	ck_assert_mem_eq(taken, "abc", 3);
	(void)close(in);
	ck_assert_int_eq(packet_receive(out, &h, taken, &who), 0);
	(void)close(out);
}
END_TEST

START_TEST(fds_are_refused_or_not_received)
{
	const struct wire_header plain = { 0, WIRE_TRACE, 1 }, with = { 0, WIRE_DONE, 1 };
	struct wire_header h;
	struct err e;
	pid_t who;
	int out, in, ends[2], closer[2], given, on = 1;
	char byte;

	ck_assert_int_eq(channel_pair(&out, &in, &e), 0);
	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	/* Linux 6.16 has it; from here on, this one is as an older kernel */
	if (setsockopt(out, SOL_SOCKET, SO_PASSRIGHTS, &on, sizeof(on)) == 0) {
		(void)setsockopt(out, SOL_SOCKET, SO_PASSRIGHTS, &(int){ 0 }, sizeof(on));
		ck_assert_int_eq(packet_send(in, &with, NULL, ends + 1, 1), -EPERM);
		(void)setsockopt(out, SOL_SOCKET, SO_PASSRIGHTS, &on, sizeof(on));
	}
	ck_assert_int_eq(packet_send(in, &plain, NULL, NULL, 0), 0);
	ck_assert_int_eq(packet_send(in, &with, NULL, ends + 1, 1), 0);
	(void)close(ends[1]);
	ck_assert_int_eq(packet_receive(out, &h, taken, &who), 1);
	ck_assert_uint_eq(h.type, WIRE_TRACE);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(packet_receive(out, &h, taken, &who), -EPROTO);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, closer), 0);
	closer_use(closer[0]);
	packet_close(&out);
	closer_use(-1);
	ck_assert_int_eq(out, -1);
	packet_close(&out);
	/* another process gets the last end of the channel, and the pipe's with it */
	ck_assert_int_eq(fd_passing_receive(closer[1], &byte, 1, &given, 1), 1);
	(void)close(closer[0]);
	(void)close(closer[1]);
	(void)close(given);
	ck_assert_int_lt(packet_send(in, &plain, NULL, NULL, 0), 0);
	ck_assert_int_eq(read(ends[0], &byte, 1), 0);
	(void)close(ends[0]);
	(void)close(in);
}
END_TEST

START_TEST(an_empty_packet_is_no_end)
{
	struct wire_header h;
	struct err e;
	pid_t who;
	int out, in;

	ck_assert_int_eq(channel_pair(&out, &in, &e), 0);
	ck_assert_int_eq(send(in, "", 0, 0), 0);
	ck_assert_int_eq(packet_receive(out, &h, taken, &who), -EBADMSG);
	ck_assert_int_eq(packet_receive(out, &h, taken, &who), -EAGAIN);
	(void)close(in);
	ck_assert_int_eq(packet_receive(out, &h, taken, &who), 0);
	packet_close(&out);
}
END_TEST

START_TEST(what_is_no_frame_is_told)
{
	static const unsigned char heads[][WIRE_HEADER_BYTES + 1] = {
		{ 0 },                                       /* no type */
		{ 1, 0, 0, 0, WIRE_DONE, 0, 1, 0, 0 },       /* the zero is none */
		{ 5, 0, 0, 0, WIRE_DONE, 0, 0, 0, 0 },       /* longer than it is */
		{ 0, 0, 0, 0, WIRE_DONE, 0, 0, 0, 0 },       /* shorter */
		{ 0xff, 0xff, 0xff, 0xff, WIRE_DONE, 0, 0 }, /* far too long */
	};
	struct wire_header h;
	struct err e;
	pid_t who;
	int out, in;

	ck_assert_int_eq(channel_pair(&out, &in, &e), 0);
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		ck_assert_int_eq(send(in, heads[i], sizeof(heads[i]), 0),
				 (ssize_t)sizeof(heads[i]));
		ck_assert_int_eq(packet_receive(out, &h, taken, &who), -EBADMSG);
	}
	ck_assert_int_eq(send(in, heads[0], 3, 0), 3);
	ck_assert_int_eq(packet_receive(out, &h, taken, &who), -EBADMSG);
	(void)close(in);
	(void)close(out);
}
END_TEST

Suite *jail_queue_suite(void)
{
	Suite *s = suite_create("jail/queue");
	TCase *c = tcase_create("queue");

	tcase_add_test(c, frames_come_out_as_they_went_in);
	tcase_add_test(c, a_frame_has_a_bound);
	tcase_add_test(c, what_is_not_read_waits);
	tcase_add_test(c, a_reader_that_is_gone_is_told);
	tcase_add_test(c, a_packet_tells_who_sent_it);
	tcase_add_test(c, fds_are_refused_or_not_received);
	tcase_add_test(c, an_empty_packet_is_no_end);
	tcase_add_test(c, what_is_no_frame_is_told);
	suite_add_tcase(s, c);
	return s;
}
