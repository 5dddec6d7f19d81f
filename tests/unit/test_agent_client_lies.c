/* SPDX-License-Identifier: MIT */
/*
 * test_agent_client_lies.c - a model client that was taken over says what it likes: what
 * the main process takes from it
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/key/client_wire.h"
#include "init/io.h"
#include "tests/unit/suites.h"
#include "tests/unit/test_agent_client.h"

static struct stop stop;

static void open_stop(void)
{
	struct err e;

	ck_assert_int_eq(stop_open(&stop, &e), 0);
}

struct lie {
	struct client_header h[3];
	const char *what;
};

static const struct lie lies[] = {
	{ { { .kind = 0 } }, "makes no sense" },
	{ { { .kind = 99 } }, "makes no sense" },
	{ { { .kind = CLIENT_POST, .length = 1 } }, "makes no sense" },
	{ { { .kind = CLIENT_ENOUGH } }, "makes no sense" },
	{ { { .kind = CLIENT_BODY } }, "makes no sense" },
	{ { { .kind = CLIENT_BODY, .length = CLIENT_PIECE_MAX + 1 } }, "makes no sense" },
	{ { { .kind = CLIENT_STREAM, .length = UINT32_MAX } }, "makes no sense" },
	{ { { .kind = CLIENT_BODY, .length = 1 },
	    { .kind = CLIENT_STREAM, .length = 1 } },
	  "makes no sense" },
	{ { { .kind = CLIENT_END, .length = ERR_TEXT_MAX } }, "makes no sense" },
	{ { { .kind = CLIENT_END, .errnum = -1 } }, "makes no sense" },
	{ { { .kind = CLIENT_END, .errnum = INT32_MIN } }, "makes no sense" },
	{ { { .kind = CLIENT_END, .status = -1 } }, "makes no sense" },
	{ { { .kind = CLIENT_END, .status = 1000 } }, "makes no sense" },
	{ { { .kind = CLIENT_END, .ms = UINT64_MAX } }, "makes no sense" },
	/* and then it hangs up, in the middle or not */
	{ { { .kind = CLIENT_BODY, .length = 9 } }, "is gone" },
	{ { { .kind = CLIENT_BODY, .length = 1 } }, "is gone" },
};

/* one of our own, whose other end is @theirs */
static struct client made(int *theirs)
{
	int both[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both), 0);
	ck_assert_int_eq(fcntl(both[0], F_SETFL, O_NONBLOCK), 0);
	*theirs = both[1];
	return (struct client){ .pidfd = -1, .socket = both[0], .stop = &stop };
}

START_TEST(main_process_checks_what_it_is_told)
{
	int theirs;
	struct client c = made(&theirs);
	struct client_answer a;
	struct err e = { 0 };

	for (size_t i = 0; i < 3 && (i == 0 || lies[_i].h[i].kind); i++) {
		size_t bytes = lies[_i].h[i].length == 1 ? 1 : 0;

		ck_assert_int_eq(
			io_write_all(theirs, &lies[_i].h[i], sizeof(lies[_i].h[i])), 0);
		ck_assert_int_eq(io_write_all(theirs, "x", bytes), 0);
	}
	if (strcmp(lies[_i].what, "is gone") == 0)
		(void)shutdown(theirs, SHUT_WR);
	ck_assert_int_eq(post_words(&c, &a, &e), -EPIPE);
	ck_assert_msg(strstr(e.text, lies[_i].what) != NULL, "%s", e.text);
	text_free(&a.body);
	/* it is not listened to any longer */
	ck_assert_int_eq(post_words(&c, &a, &e), -EPIPE);
	ck_assert_msg(strstr(e.text, "is gone") != NULL, "%s", e.text);
	text_free(&a.body);
	(void)close(theirs);
}
END_TEST

START_TEST(main_process_takes_what_is_right)
{
	static const struct client_header said[] = {
		{ .kind = CLIENT_BODY, .length = 1 },
		{ .kind = CLIENT_END, .length = 1, .errnum = EACCES, .status = 500 },
	};
	int theirs;
	struct client c = made(&theirs);
	struct client_answer a;
	struct err e = { 0 };

	for (size_t i = 0; i < COUNT(said); i++) {
		ck_assert_int_eq(io_write_all(theirs, &said[i], sizeof(said[i])), 0);
		ck_assert_int_eq(io_write_all(theirs, "\x1b", 1), 0);
	}
	/* no errno but a few, and no control bytes in its words */
	ck_assert_int_eq(post_words(&c, &a, &e), -EIO);
	ck_assert_str_eq(e.text, "?");
	ck_assert_uint_eq(a.body.length, 1);
	text_free(&a.body);
	(void)close(c.socket);
	(void)close(theirs);
}
END_TEST

/* a client that says nothing: a signal ends the wait all the same */
START_TEST(signal_ends_the_wait)
{
	int theirs;
	struct client c = made(&theirs);
	struct client_answer a;
	struct err e = { 0 };

	ck_assert_int_eq(kill(getpid(), SIGTERM), 0);
	ck_assert_int_eq(post_words(&c, &a, &e), -EINTR);
	ck_assert_int_eq(stop.signal, SIGTERM);
	ck_assert_int_eq(c.socket, -1);
	(void)close(theirs);
}
END_TEST

static int take_all(void *arg, const char *bytes, size_t length, struct err *e)
{
	(void)arg;
	(void)bytes;
	(void)length;
	(void)e;
	return 0;
}

/* one that never stops talking, until it is told that it is enough */
static void talk_on(int theirs)
{
	const struct client_header piece = { .kind = CLIENT_STREAM, .length = 1 };
	const struct client_header end = { .kind = CLIENT_END, .errnum = ECANCELED };
	struct client_header asked;
	struct pollfd p = { .fd = theirs, .events = POLLIN };

	if (io_read_all(theirs, &asked, sizeof(asked)) != sizeof(asked))
		_exit(1);
	while (poll(&p, 1, 0) == 0) {
		(void)io_write_all(theirs, &piece, sizeof(piece));
		(void)io_write_all(theirs, "x", 1);
	}
	(void)io_read_all(theirs, &asked, sizeof(asked));
	(void)io_write_all(theirs, &end, sizeof(end));
	_exit(asked.kind != CLIENT_ENOUGH);
}

START_TEST(time_ends_what_never_stops)
{
	struct text nothing = { 0 };
	const struct client_request request = { .body = &nothing,
						.total_ms = 100,
						.silence_ms = 60000,
						.answer_max = 1,
						.take = take_all };
	int theirs, status;
	struct client c = made(&theirs);
	struct client_answer a;
	struct err e = { 0 };
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		talk_on(theirs);
	(void)close(theirs);
	ck_assert_int_eq(client_post(&c, &request, &a, &e), -EAGAIN);
	ck_assert_str_eq(e.text, "the time limit was reached");
	ck_assert(a.streamed);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	(void)close(c.socket);
}
END_TEST

Suite *agent_client_lies_suite(void)
{
	Suite *s = suite_create("agent client lies");
	TCase *c = tcase_create("all");

	tcase_set_timeout(c, 300);
	tcase_add_checked_fixture(c, open_stop, NULL);
	tcase_add_loop_test(c, main_process_checks_what_it_is_told, 0, (int)COUNT(lies));
	tcase_add_test(c, main_process_takes_what_is_right);
	tcase_add_test(c, signal_ends_the_wait);
	tcase_add_test(c, time_ends_what_never_stops);
	suite_add_tcase(s, c);
	return s;
}
