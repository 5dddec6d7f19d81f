/* SPDX-License-Identifier: MIT */
/*
 * test_init_wire.c - frames: headers, sending, blocking receiving
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "init/io.h"
#include "init/wire.h"
#include "tests/unit/suites.h"
#include "tests/wire_recv.h"

static bool is_type(unsigned int type)
{
	return (type >= 1 && type <= 4) || (type >= 16 && type <= 29) ||
	       (type >= 40 && type <= 57);
}

/* the layout that wire.h promises, written down a second time */
static void lay_out(unsigned char *at, uint32_t length, uint16_t type, uint16_t zero,
		    uint32_t step)
{
	const unsigned char bytes[WIRE_HEADER_BYTES] = {
		(unsigned char)length,         (unsigned char)(length >> 8),
		(unsigned char)(length >> 16), (unsigned char)(length >> 24),
		(unsigned char)type,           (unsigned char)(type >> 8),
		(unsigned char)zero,           (unsigned char)(zero >> 8),
		(unsigned char)step,           (unsigned char)(step >> 8),
		(unsigned char)(step >> 16),   (unsigned char)(step >> 24),
	};

	memcpy(at, bytes, sizeof(bytes));
}

static void make_pair(int ends[2])
{
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
}

START_TEST(numbers_are_fixed)
{
	/* the bytes go to programs that were built at another time */
	ck_assert_int_eq(WIRE_FAIL, 1);
	ck_assert_int_eq(WIRE_READY, 2);
	ck_assert_int_eq(WIRE_GO, 3);
	ck_assert_int_eq(WIRE_EXIT, 4);
	ck_assert_int_eq(WIRE_CODE, 16);
	ck_assert_int_eq(WIRE_RUN, 17);
	ck_assert_int_eq(WIRE_INTERRUPT, 18);
	ck_assert_int_eq(WIRE_KILL, 19);
	ck_assert_int_eq(WIRE_STARTED, 20);
	ck_assert_int_eq(WIRE_OUT, 21);
	ck_assert_int_eq(WIRE_ERR, 22);
	ck_assert_int_eq(WIRE_RESULT, 23);
	ck_assert_int_eq(WIRE_TRACE, 24);
	ck_assert_int_eq(WIRE_DONE, 25);
	ck_assert_int_eq(WIRE_HEADER_BYTES, 12);
	ck_assert_int_eq(WIRE_PAYLOAD_MAX, 65536);
}
END_TEST

START_TEST(pack_lays_bytes_out)
{
	static const struct wire_header heads[] = {
		{ 0, WIRE_READY, 0 },
		{ 0x00010000, WIRE_OUT, 0xfedcba98 },
		{ 0x0000abcd, WIRE_DONE, UINT32_MAX },
		{ 1, WIRE_FAIL, 1 },
	};

	for (size_t i = 0; i < COUNT(heads); i++) {
		unsigned char want[WIRE_HEADER_BYTES], got[WIRE_HEADER_BYTES + 1];
		struct wire_header back;

		memset(got, 0xee, sizeof(got));
		wire_pack(&heads[i], got);
		lay_out(want, heads[i].length, heads[i].type, 0, heads[i].step);
		ck_assert_int_eq(memcmp(got, want, sizeof(want)), 0);
		ck_assert_int_eq(got[WIRE_HEADER_BYTES], 0xee);
		ck_assert_int_eq(wire_unpack(got, &back), 0);
		ck_assert_uint_eq(back.length, heads[i].length);
		ck_assert_uint_eq(back.type, heads[i].type);
		ck_assert_uint_eq(back.step, heads[i].step);
	}
}
END_TEST

START_TEST(every_type_is_known_or_refused)
{
	unsigned char head[WIRE_HEADER_BYTES];

	for (unsigned int type = 0; type <= UINT16_MAX; type++) {
		struct wire_header h = { 7, 7, 7 };
		int want = is_type(type) ? 0 : -EBADMSG;

		lay_out(head, 5, (uint16_t)type, 0, 9);
		HOLDS(wire_unpack(head, &h) == want);
		HOLDS(h.type == (want ? 7 : type));
		HOLDS(h.step == (want ? 7 : 9));
	}
}
END_TEST

START_TEST(the_zero_field_is_zero)
{
	unsigned char head[WIRE_HEADER_BYTES];
	struct wire_header h;

	for (unsigned int zero = 1; zero <= UINT16_MAX; zero++) {
		lay_out(head, 5, WIRE_OUT, (uint16_t)zero, 9);
		HOLDS(wire_unpack(head, &h) == -EBADMSG);
	}
}
END_TEST

START_TEST(length_is_bounded)
{
	static const struct {
		uint32_t length;
		int result;
	} rows[] = {
		{ 0, 0 },
		{ WIRE_PAYLOAD_MAX - 1, 0 },
		{ WIRE_PAYLOAD_MAX, 0 },
		{ WIRE_PAYLOAD_MAX + 1, -EMSGSIZE },
		{ 0x00ffffff, -EMSGSIZE },
		{ 0x80000000, -EMSGSIZE },
		{ UINT32_MAX, -EMSGSIZE },
	};
	unsigned char head[WIRE_HEADER_BYTES];

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct wire_header h = { 7, 7, 7 };

		lay_out(head, rows[i].length, WIRE_OUT, 0, 0);
		ck_assert_int_eq(wire_unpack(head, &h), rows[i].result);
		ck_assert_uint_eq(h.length, rows[i].result ? 7 : rows[i].length);
	}
}
END_TEST

static void send_and_receive(int out, int in)
{
	static unsigned char sent[WIRE_PAYLOAD_MAX], got[WIRE_PAYLOAD_MAX + 1];
	static const size_t lengths[] = { 0, 1, 11, 12, 13, 4096, WIRE_PAYLOAD_MAX };
	uint64_t state = 3;

	for (size_t i = 0; i < sizeof(sent); i++)
		sent[i] = (unsigned char)unit_random(&state);
	for (size_t i = 0; i < COUNT(lengths); i++) {
		struct wire_header h;
		pid_t pid = fork();
		int status;

		ck_assert_int_ge(pid, 0);
		if (pid == 0)
			_exit(wire_send(out, WIRE_OUT, (uint32_t)i,
					lengths[i] ? sent : NULL, lengths[i]) == 0
				      ? 0
				      : 1);
		memset(got, 0xee, sizeof(got));
		ck_assert_int_eq(wire_recv(in, &h, got, WIRE_PAYLOAD_MAX), 0);
		ck_assert_uint_eq(h.length, lengths[i]);
		ck_assert_uint_eq(h.type, WIRE_OUT);
		ck_assert_uint_eq(h.step, i);
		ck_assert_int_eq(memcmp(got, sent, lengths[i]), 0);
		ck_assert_int_eq(got[lengths[i]], 0xee);
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert_int_eq(status, 0);
	}
	(void)close(out);
	(void)close(in);
}

START_TEST(frames_cross_a_socket)
{
	int ends[2], small = 4096;

	make_pair(ends);
	/* so that a large frame is sent in several parts */
	ck_assert_int_eq(
		setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)), 0);
	send_and_receive(ends[0], ends[1]);
}
END_TEST

START_TEST(frames_cross_a_pipe)
{
	int ends[2];

	ck_assert_int_eq(pipe(ends), 0);
	send_and_receive(ends[1], ends[0]);
}
END_TEST

START_TEST(sending_too_much_is_refused)
{
	static char much[WIRE_PAYLOAD_MAX + 1];
	int ends[2];
	char byte;

	make_pair(ends);
	ck_assert_int_eq(wire_send(ends[0], WIRE_OUT, 0, much, sizeof(much)), -EMSGSIZE);
	/* and not a byte of it went out */
	ck_assert_int_eq(recv(ends[1], &byte, 1, MSG_DONTWAIT), -1);
	(void)close(ends[0]);
	(void)close(ends[1]);
}
END_TEST

START_TEST(a_gone_reader_is_an_error_not_a_signal)
{
	int ends[2];

	/* the test's process would end by this signal */
	(void)signal(SIGPIPE, SIG_DFL);
	make_pair(ends);
	(void)close(ends[1]);
	ck_assert_int_eq(wire_send(ends[0], WIRE_OUT, 0, "x", 1), -EPIPE);
	(void)close(ends[0]);

	ck_assert_int_eq(pipe(ends), 0);
	(void)close(ends[0]);
	(void)signal(SIGPIPE, SIG_IGN);
	ck_assert_int_eq(wire_send(ends[1], WIRE_OUT, 0, "x", 1), -EPIPE);
	(void)close(ends[1]);
	ck_assert_int_eq(wire_send(ends[1], WIRE_OUT, 0, "x", 1), -EBADF);
}
END_TEST

/* a frame that ends after @i bytes, for every @i */
START_TEST(frames_cut_at_every_byte)
{
	unsigned char frame[WIRE_HEADER_BYTES + 8];

	lay_out(frame, 8, WIRE_RESULT, 0, 2);
	memcpy(frame + WIRE_HEADER_BYTES, "payload!", 8);
	for (size_t i = 0; i <= sizeof(frame); i++) {
		struct wire_header h = { 7, 7, 7 };
		char got[8];
		int ends[2];
		int want = i == 0 ? -ENODATA : i < sizeof(frame) ? -EPIPE : 0;

		make_pair(ends);
		ck_assert_int_eq(io_write_all(ends[0], frame, i), 0);
		(void)close(ends[0]);
		ck_assert_int_eq(wire_recv(ends[1], &h, got, sizeof(got)), want);
		ck_assert_uint_eq(h.step, want ? 7 : 2);
		(void)close(ends[1]);
	}
}
END_TEST

START_TEST(room_in_the_payload_is_kept_to)
{
	struct wire_header h = { 7, 7, 7 };
	char got[8];
	int ends[2];

	make_pair(ends);
	memset(got, 0x5a, sizeof(got));
	ck_assert_int_eq(wire_send(ends[0], WIRE_OUT, 1, "12345", 5), 0);
	ck_assert_int_eq(wire_recv(ends[1], &h, got, 4), -EMSGSIZE);
	ck_assert_uint_eq(h.length, 7);
	for (size_t i = 0; i < sizeof(got); i++)
		ck_assert_int_eq(got[i], 0x5a);
	(void)close(ends[0]);
	(void)close(ends[1]);

	make_pair(ends);
	ck_assert_int_eq(wire_send(ends[0], WIRE_GO, 0, NULL, 0), 0);
	ck_assert_int_eq(wire_recv(ends[1], &h, NULL, 0), 0);
	ck_assert_uint_eq(h.type, WIRE_GO);
	(void)close(ends[0]);
	(void)close(ends[1]);
}
END_TEST

START_TEST(bad_headers_are_refused_by_recv)
{
	static const struct {
		uint32_t length;
		uint16_t type, zero;
		int result;
	} rows[] = {
		{ WIRE_PAYLOAD_MAX + 1, WIRE_OUT, 0, -EMSGSIZE },
		{ UINT32_MAX, WIRE_OUT, 0, -EMSGSIZE },
		{ 0, 0, 0, -EBADMSG },
		{ 0, 5, 0, -EBADMSG },
		{ 0, 15, 0, -EBADMSG },
		{ 0, 30, 0, -EBADMSG },
		{ 0, 39, 0, -EBADMSG },
		{ 0, 58, 0, -EBADMSG },
		{ 0, 0x1010, 0, -EBADMSG },
		{ 0, WIRE_OUT, 1, -EBADMSG },
		{ 0, WIRE_OUT, 0x100, -EBADMSG },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		unsigned char head[WIRE_HEADER_BYTES];
		struct wire_header h;
		char got[64];
		int ends[2];

		make_pair(ends);
		lay_out(head, rows[i].length, rows[i].type, rows[i].zero, 0);
		ck_assert_int_eq(io_write_all(ends[0], head, sizeof(head)), 0);
		/* no end of stream: the answer must not wait for a payload */
		ck_assert_int_eq(wire_recv(ends[1], &h, got, sizeof(got)),
				 rows[i].result);
		(void)close(ends[0]);
		(void)close(ends[1]);
	}
}
END_TEST

/* GO alone, and all of it, is taken for GO */
START_TEST(go_is_waited_for)
{
	static const struct {
		uint32_t length;
		uint16_t type;
		size_t bytes;
		int result;
	} rows[] = {
		{ 0, WIRE_GO, WIRE_HEADER_BYTES, 0 },
		{ 0, WIRE_GO, WIRE_HEADER_BYTES - 1, -EPIPE },
		{ 0, WIRE_GO, 0, -EPIPE },
		{ 1, WIRE_GO, WIRE_HEADER_BYTES, -EPIPE },
		{ 0, WIRE_READY, WIRE_HEADER_BYTES, -EPIPE },
		{ 0, 999, WIRE_HEADER_BYTES, -EPIPE },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		unsigned char head[WIRE_HEADER_BYTES];
		int ends[2];

		make_pair(ends);
		lay_out(head, rows[i].length, rows[i].type, 0, 0);
		ck_assert_int_eq(io_write_all(ends[0], head, rows[i].bytes), 0);
		(void)close(ends[0]);
		ck_assert_int_eq(wire_wait_go(ends[1]), rows[i].result);
		(void)close(ends[1]);
	}
}
END_TEST

Suite *init_wire_suite(void)
{
	Suite *s = suite_create("init wire");
	TCase *c = tcase_create("wire");

	tcase_add_test(c, numbers_are_fixed);
	tcase_add_test(c, pack_lays_bytes_out);
	tcase_add_test(c, every_type_is_known_or_refused);
	tcase_add_test(c, the_zero_field_is_zero);
	tcase_add_test(c, length_is_bounded);
	tcase_add_test(c, frames_cross_a_socket);
	tcase_add_test(c, frames_cross_a_pipe);
	tcase_add_test(c, sending_too_much_is_refused);
	tcase_add_test(c, a_gone_reader_is_an_error_not_a_signal);
	tcase_add_test(c, frames_cut_at_every_byte);
	tcase_add_test(c, room_in_the_payload_is_kept_to);
	tcase_add_test(c, bad_headers_are_refused_by_recv);
	tcase_add_test(c, go_is_waited_for);
	suite_add_tcase(s, c);
	return s;
}
