/* SPDX-License-Identifier: MIT */
/*
 * test_jail_capture.c - head and tail of what a program writes, against a simple model
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "init/io.h"
#include "jail/plan/option.h"
#include "tests/unit/captured.h"
#include "tests/unit/suites.h"

static struct err e;

static void ck_kept(const struct capture_stream *s, uint64_t total, size_t limit)
{
	struct capture_view v = capture_view(s);
	uint64_t left;

	limit -= limit % 2; /* two halves of the same size */
	left = total > limit ? total - limit : 0;

	ck_assert_uint_eq(s->bytes, total);
	ck_assert_uint_eq(v.left_out, left);
	ck_assert_uint_eq(v.head_bytes + v.tail_bytes + left, total);
	ck_assert_uint_eq(v.head_bytes, left ? limit / 2 : total);
	for (size_t i = 0; i < v.head_bytes; i++)
		HOLDS(v.head[i] == captured_byte(i));
	for (size_t i = 0; i < v.tail_bytes; i++)
		HOLDS(v.tail[i] == captured_byte(total - v.tail_bytes + i));
}

START_TEST(every_boundary_is_kept)
{
	static const size_t limits[] = { 1024, 1025, 4099, 65536 };
	static const size_t pieces[] = { 1, 511, 512, 513, 4096, 65536 };

	for (size_t l = 0; l < COUNT(limits); l++) {
		size_t limit = limits[l];
		const uint64_t totals[] = { 0,
					    1,
					    limit / 2,
					    limit / 2 + 1,
					    limit - 1,
					    limit,
					    limit + 1,
					    limit + limit / 2,
					    2 * limit - 1,
					    2 * limit,
					    2 * limit + 1,
					    (uint64_t)9 * limit + 5 };

		captured_plan.limit[LIMIT_OUTPUT_BYTES] = limit;
		for (size_t t = 0; t < COUNT(totals); t++)
			for (size_t p = 0; p < COUNT(pieces); p++) {
				captured = (struct capture)CAPTURE_NONE;
				captured_open();
				captured_add_up_to(&captured.stream[_i], totals[t],
						   pieces[p]);
				capture_end(&captured, true);
				ck_kept(&captured.stream[_i], totals[t], limit);
				free(captured.stream[0].kept);
				free(captured.stream[1].kept);
			}
	}
}
END_TEST

START_TEST(random_pieces_are_kept)
{
	uint64_t state = 77 + (uint64_t)_i;

	for (int round = 0; round < 300; round++) {
		size_t limit = CAPTURED_LIMIT + unit_random(&state) % 5000;
		uint64_t total = unit_random(&state) % (4 * limit);

		captured_plan.limit[LIMIT_OUTPUT_BYTES] = limit;
		captured = (struct capture)CAPTURE_NONE;
		captured_open();
		while (captured.stream[0].bytes < total) {
			uint64_t piece = 1 + unit_random(&state) % (2 * limit);
			uint64_t to = captured.stream[0].bytes + piece;

			captured_add_up_to(&captured.stream[0], to < total ? to : total,
					   piece);
		}
		capture_end(&captured, true);
		ck_kept(&captured.stream[0], total, limit);
		free(captured.stream[0].kept);
		free(captured.stream[1].kept);
	}
}
END_TEST

/* the counters are 64 bits wide where size_t might not be, and never wrap a ring */
START_TEST(huge_streams_are_counted)
{
	struct capture_stream *s = &captured.stream[0];

	captured_open();
	s->bytes = (5ULL << 32) + 3;
	captured_add_up_to(s, (5ULL << 32) + 4000, 700);
	capture_end(&captured, true);
	ck_assert_uint_eq(capture_view(s).left_out, (5ULL << 32) + 4000 - CAPTURED_LIMIT);
	for (size_t i = 0; i < CAPTURED_LIMIT / 2; i++)
		HOLDS(capture_view(s).tail[i] ==
		      captured_byte((5ULL << 32) + 4000 - CAPTURED_LIMIT / 2 + i));
}
END_TEST

/* a character that the gap begins or ends in is a part of the gap */
START_TEST(characters_are_not_cut)
{
	static const struct {
		const char *text;
		size_t at;  /* how many of its bytes lie before the gap, or behind it */
		size_t cut; /* how many of these go */
		bool in_tail;
	} rows[] = {
		{ "\xc3\xa9", 1, 1, false },
		{ "\xc3\xa9", 2, 0, false },
		{ "\xe2\x82\xac", 1, 1, false },
		{ "\xe2\x82\xac", 2, 2, false },
		{ "\xe2\x82\xac", 3, 0, false },
		{ "\xf0\x9f\x90\xa7", 1, 1, false },
		{ "\xf0\x9f\x90\xa7", 2, 2, false },
		{ "\xf0\x9f\x90\xa7", 3, 3, false },
		{ "\xf0\x9f\x90\xa7", 4, 0, false },
		{ "\x80\x80\x80\x80", 4, 0, false },
		{ "\xc3\xa9", 1, 1, true },
		{ "\xc3\xa9", 2, 0, true },
		{ "\xe2\x82\xac", 2, 2, true },
		{ "\xf0\x9f\x90\xa7", 3, 3, true },
		{ "\xf0\x9f\x90\xa7", 4, 0, true },
		{ "\x80\x80\x80\x80", 4, 3, true },
		{ "x\xff", 2, 0, true },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		unsigned char bytes[CAPTURED_LIMIT * 2];
		size_t length = strlen(rows[i].text);
		struct capture_view v;

		memset(bytes, 'x', sizeof(bytes));
		memcpy(bytes + (rows[i].in_tail ? sizeof(bytes) - CAPTURED_LIMIT / 2 +
							  rows[i].at - length
						: CAPTURED_LIMIT / 2 - rows[i].at),
		       rows[i].text, length);
		captured = (struct capture)CAPTURE_NONE;
		captured_open();
		capture_add(&captured.stream[0], bytes, sizeof(bytes));
		capture_end(&captured, true);
		v = capture_view(&captured.stream[0]);
		ck_assert_uint_eq(v.head_bytes,
				  CAPTURED_LIMIT / 2 -
					  (rows[i].in_tail ? 0 : rows[i].cut));
		ck_assert_uint_eq(v.tail_bytes,
				  CAPTURED_LIMIT / 2 -
					  (rows[i].in_tail ? rows[i].cut : 0));
		ck_assert_uint_eq(v.left_out, CAPTURED_LIMIT + rows[i].cut);
		ck_assert_int_eq(v.tail[v.tail_bytes - 1], bytes[sizeof(bytes) - 1]);
	}
}
END_TEST

START_TEST(a_whole_stream_is_not_cut)
{
	static const unsigned char bytes[] = "\x80\x80 caf\xc3";

	captured_open();
	capture_add(&captured.stream[0], bytes, sizeof(bytes) - 1);
	capture_end(&captured, true);

	struct capture_view v = capture_view(&captured.stream[0]);

	ck_assert_uint_eq(v.head_bytes, sizeof(bytes) - 1);
	ck_assert_int_eq(memcmp(v.head, bytes, sizeof(bytes) - 1), 0);
	ck_assert_uint_eq(v.left_out + v.tail_bytes, 0);
}
END_TEST

START_TEST(pipes_are_read_in_pieces)
{
	static unsigned char bytes[65536];
	struct capture_stream *s = &captured.stream[1];

	captured_open();
	ck_assert_int_lt(capture_read(s), 1);
	ck_assert_int_ge(s->outside, 0); /* empty is not its end */
	ck_assert_int_eq(io_write_all(captured_stdio[2], bytes, sizeof(bytes)), 0);
	ck_assert_int_eq(capture_read(s), sizeof(bytes));
	ck_assert_int_eq(io_write_all(captured_stdio[2], bytes, 3), 0);
	io_close_fd(&captured_stdio[2]);
	ck_assert_int_eq(capture_read(s), 3);
	ck_assert_int_eq(capture_read(s), 0);
	ck_assert_int_eq(s->outside, -1);
	ck_assert_uint_eq(s->bytes, sizeof(bytes) + 3);
}
END_TEST

static void flood(void)
{
	static unsigned char bytes[4096];

	(void)signal(SIGPIPE, SIG_DFL);
	for (;;)
		if (write(captured_stdio[1], bytes, sizeof(bytes)) < 0)
			_exit(1);
}

/* somebody who still writes does not keep the launcher: the test would never end */
START_TEST(a_drain_has_an_end)
{
	struct capture_stream *s = &captured.stream[0];
	int size;

	captured_open();
	size = fcntl(s->outside, F_GETPIPE_SZ);
	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();

		ck_assert_int_ge(pid, 0);
		if (pid == 0)
			flood();
		s->bytes = 0;
		while (capture_read(s) <= 0)
			;
		s->bytes = 0;
		ck_assert_int_eq(capture_drain(&captured, &e), 0);
		/* one read may take what came since the look */
		ck_assert_uint_le(s->bytes, (uint64_t)size + 65536);
		ck_assert_int_eq(kill(pid, SIGKILL), 0);
		ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	}
}
END_TEST

/* more than one read's worth, in both pipes, whose other ends are open all the while */
START_TEST(a_drain_takes_what_is_there)
{
	static unsigned char bytes[100000];

	captured_open();
	for (int i = 0; i < CAPTURE_STREAMS; i++) {
		ck_assert_int_ge(fcntl(captured_stdio[1 + i], F_SETPIPE_SZ, 1 << 17),
				 1 << 17);
		ck_assert_int_eq(
			io_write_all(captured_stdio[1 + i], bytes, sizeof(bytes)), 0);
	}
	ck_assert_int_eq(capture_drain(&captured, &e), 0);
	ck_assert_uint_eq(captured.stream[0].bytes, sizeof(bytes));
	ck_assert_uint_eq(captured.stream[1].bytes, sizeof(bytes));
}
END_TEST

START_TEST(the_program_gets_the_pipes)
{
	struct stat own, pipe_st;

	captured_open();
	ck_assert_int_eq(fstat(captured.stream[0].outside, &pipe_st), 0);
	ck_assert_int_eq(captured_stdio[0], -1);
	ck_assert_int_eq(fstat(captured_stdio[1], &own), 0);
	ck_assert_uint_eq(own.st_ino, pipe_st.st_ino);
	/* to be opened again for writing by any id, for reading by none */
	ck_assert_uint_eq(own.st_mode & 0777, 0222);
	ck_assert_int_eq(fcntl(captured_stdio[1], F_GETFL) & O_NONBLOCK, 0);
	ck_assert_int_eq(fstat(captured.stream[1].outside, &pipe_st), 0);
	ck_assert_int_eq(fstat(captured_stdio[2], &own), 0);
	ck_assert_uint_eq(own.st_ino, pipe_st.st_ino);
}
END_TEST

#define PARSE(e, ...) option_parse(&captured_plan, (char *[]){ __VA_ARGS__, NULL }, (e))

/* an option that may stand alone takes no next word, and says so where it looks like
 * one */
START_TEST(capture_may_stand_alone)
{
	char *both[] = { "--capture", "/bin/x", "both", NULL };
	char *dashes[] = { "--capture", "--", "both", NULL };

	ck_assert_int_eq(option_parse(&captured_plan, both, &e), 0);
	ck_assert_int_eq(captured_plan.capture, CAPTURE_BOTH);
	ck_assert_ptr_eq(captured_plan.argv, both + 1);
	ck_assert_int_eq(option_parse(&captured_plan, dashes, &e), 0);
	ck_assert_ptr_eq(captured_plan.argv, dashes + 2);
	ck_assert_int_eq(PARSE(&e, "--capture=stderr", "/bin/x"), 0);
	ck_assert_int_eq(captured_plan.capture, CAPTURE_STDERR);
	ck_assert_int_eq(PARSE(&e, "--capture", "both"), -EINVAL);
	ck_assert_ptr_nonnull(strstr(e.text, "write --capture=both"));
	ck_assert_int_eq(PARSE(&e, "--net=none"), 0);
	ck_assert_int_eq(captured_plan.capture, CAPTURE_NO);
}
END_TEST

Suite *jail_capture_suite(void)
{
	Suite *s = suite_create("jail capture");
	TCase *c = tcase_create("capture");

	tcase_add_checked_fixture(c, captured_start, NULL);
	tcase_add_loop_test(c, every_boundary_is_kept, 0, CAPTURE_STREAMS);
	tcase_add_loop_test(c, random_pieces_are_kept, 0, 4);
	tcase_add_test(c, huge_streams_are_counted);
	tcase_add_test(c, characters_are_not_cut);
	tcase_add_test(c, a_whole_stream_is_not_cut);
	tcase_add_test(c, pipes_are_read_in_pieces);
	tcase_add_test(c, a_drain_has_an_end);
	tcase_add_test(c, a_drain_takes_what_is_there);
	tcase_add_test(c, the_program_gets_the_pipes);
	tcase_add_test(c, capture_may_stand_alone);
	suite_add_tcase(s, c);
	return s;
}
