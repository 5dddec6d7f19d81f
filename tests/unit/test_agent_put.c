/* SPDX-License-Identifier: MIT */
/*
 * test_agent_put.c - a file on its way into a jail: half of one is dropped
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/session/session.h"
#include "init/io.h"
#include "init/serve_wire.h"
#include "tests/unit/suites.h"

#define ID 7

/* what stepjail is sent, and what it answers to its end, whatever that asks */
static const struct {
	const char *name;
	int flags; /* of the file: what is open for writing alone cannot be read */
	uint16_t answer;
	int r;
	uint32_t drop;
} rows[] = {
	{ "read", O_RDWR, WIRE_STATE, 0, 0 },
	{ "refused", O_RDWR, WIRE_REFUSED, -EPERM, 0 },
	{ "not read", O_WRONLY, WIRE_STATE, -EBADF, 1 },
	{ "neither read nor dropped", O_WRONLY, WIRE_REFUSED, -EBADF, 1 },
};

static void answer(int fd, uint16_t type)
{
	static const char words[] = "{\"frame\":\"END\",\"error\":\"no\"}";
	struct {
		uint32_t length;
		uint16_t type, zero;
		uint32_t step, branch;
	} head = { sizeof(uint32_t) + sizeof(words) - 1, type, 0, ID, 0 };

	ck_assert_int_eq(io_write_all(fd, &head, sizeof(head)), 0);
	ck_assert_int_eq(io_write_all(fd, words, sizeof(words) - 1), 0);
}

/* the last frame that came, as END should be */
static struct serve_end last_frame(int fd)
{
	struct serve_end end;
	char bytes[256];
	ssize_t n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	ck_assert_int_gt(n, (ssize_t)(WIRE_HEADER_BYTES + sizeof(end)));

	const char *at = bytes + n - sizeof(end);
	uint16_t type;

	memcpy(&type, at - WIRE_HEADER_BYTES + 4, sizeof(type));
	ck_assert_uint_eq(type, WIRE_END);
	memcpy(&end, at, sizeof(end));
	return end;
}

START_TEST(half_a_file_is_dropped)
{
	static struct session s; /* large */
	const struct session_plan plan = { .deadline_ms = UINT64_MAX };
	struct stop stop = { .fd = -1 };
	struct err e = { 0 };
	char name[] = "/tmp/stepjail-put-XXXXXX";
	int both[2];
	int made = mkstemp(name);
	int fd = open(name, rows[_i].flags);

	ck_assert_int_ge(made, 0);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(io_write_all(made, "text", 4), 0);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, both), 0);
	serve_init(&s.serve, &stop);
	s.serve.socket = both[0];
	s.plan = &plan;
	s.id = ID;
	s.open = true;
	answer(both[1], rows[_i].answer);

	ck_assert_msg(session_put(&s, fd, "there", &e) == rows[_i].r, "%s: %s",
		      rows[_i].name, e.text);
	ck_assert_msg(last_frame(both[1]).drop == rows[_i].drop, "%s", rows[_i].name);

	session_close(&s);
	(void)close(both[1]);
	(void)close(fd);
	(void)close(made);
	(void)unlink(name);
}
END_TEST

Suite *agent_put_suite(void)
{
	Suite *s = suite_create("agent put");
	TCase *c = tcase_create("put");

	tcase_add_loop_test(c, half_a_file_is_dropped, 0,
			    (int)(sizeof(rows) / sizeof(rows[0])));
	suite_add_tcase(s, c);
	return s;
}
