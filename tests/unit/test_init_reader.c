/* SPDX-License-Identifier: MIT */
/*
 * test_init_reader.c - the reader of frames for event loops
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "init/io.h"
#include "init/wire.h"
#include "tests/unit/suites.h"

/* far more than a pipe holds by default is never in flight at once here */
static struct wire_reader reader;

static void make_pipe(int ends[2])
{
	ck_assert_int_eq(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
}

static size_t make_frame(unsigned char *at, uint16_t type, uint32_t step,
			 const char *payload)
{
	size_t length = strlen(payload);

	wire_pack(&(struct wire_header){ (uint32_t)length, type, step }, at);
	memcpy(at + WIRE_HEADER_BYTES, payload, length);
	return WIRE_HEADER_BYTES + length;
}

static void ck_taken(uint16_t type, uint32_t step, const char *payload)
{
	struct wire_header h;
	const unsigned char *got = wire_reader_take(&reader, &h);

	ck_assert_uint_eq(h.type, type);
	ck_assert_uint_eq(h.step, step);
	ck_assert_uint_eq(h.length, strlen(payload));
	ck_assert_int_eq(memcmp(got, payload, h.length), 0);
}

/* three frames, the middle one empty, arriving a byte at a time */
START_TEST(one_byte_at_a_time)
{
	unsigned char bytes[256];
	unsigned int frames = 0;
	size_t length = make_frame(bytes, WIRE_OUT, 1, "first");
	int ends[2];

	length += make_frame(bytes + length, WIRE_RUN, 2, "");
	length += make_frame(bytes + length, WIRE_ERR, 3, "third and last");
	make_pipe(ends);
	for (size_t i = 0; i < length; i++) {
		ck_assert_int_eq(wire_reader_fill(&reader, ends[0]), -EAGAIN);
		ck_assert_int_eq(write(ends[1], bytes + i, 1), 1);

		int r = wire_reader_fill(&reader, ends[0]);

		ck_assert_int_ge(r, 0);
		if (r == 0)
			continue;
		frames++;
		if (frames == 1)
			ck_taken(WIRE_OUT, 1, "first");
		else if (frames == 2)
			ck_taken(WIRE_RUN, 2, "");
		else
			ck_taken(WIRE_ERR, 3, "third and last");
	}
	ck_assert_uint_eq(frames, 3);
	(void)close(ends[1]);
	ck_assert_int_eq(wire_reader_fill(&reader, ends[0]), -ENODATA);
	(void)close(ends[0]);
}
END_TEST

/* all at once: no byte of the next frame is taken with the one before */
START_TEST(all_in_one_go)
{
	unsigned char bytes[256];
	size_t length = make_frame(bytes, WIRE_OUT, 1, "first");
	int ends[2], left;

	length += make_frame(bytes + length, WIRE_DONE, 2, "second");
	make_pipe(ends);
	ck_assert_int_eq(io_write_all(ends[1], bytes, length), 0);
	ck_assert_int_eq(wire_reader_fill(&reader, ends[0]), 0); /* the header */
	ck_assert_int_eq(wire_reader_fill(&reader, ends[0]), 1);
	ck_taken(WIRE_OUT, 1, "first");
	left = (int)read(ends[0], bytes, sizeof(bytes));
	ck_assert_int_eq(left, WIRE_HEADER_BYTES + 6);
	ck_assert_int_eq(io_write_all(ends[1], bytes, (size_t)left), 0);
	ck_assert_int_eq(wire_reader_fill(&reader, ends[0]), 0);
	ck_assert_int_eq(wire_reader_fill(&reader, ends[0]), 1);
	ck_taken(WIRE_DONE, 2, "second");
	ck_assert_int_eq(wire_reader_fill(&reader, ends[0]), -EAGAIN);
	(void)close(ends[0]);
	(void)close(ends[1]);
}
END_TEST

START_TEST(an_empty_frame_is_whole_with_its_header)
{
	unsigned char bytes[WIRE_HEADER_BYTES];
	int ends[2];

	make_pipe(ends);
	(void)make_frame(bytes, WIRE_GO, 5, "");
	ck_assert_int_eq(io_write_all(ends[1], bytes, sizeof(bytes)), 0);
	ck_assert_int_eq(wire_reader_fill(&reader, ends[0]), 1);
	ck_taken(WIRE_GO, 5, "");
	(void)close(ends[0]);
	(void)close(ends[1]);
}
END_TEST

START_TEST(the_largest_frame_fits)
{
	static char sent[WIRE_PAYLOAD_MAX];
	unsigned char head[WIRE_HEADER_BYTES];
	struct wire_header h;
	size_t done = 0;
	int ends[2], r = 0;

	memset(sent, 'x', sizeof(sent));
	sent[sizeof(sent) - 1] = 'y';
	make_pipe(ends);
	wire_pack(&(struct wire_header){ WIRE_PAYLOAD_MAX, WIRE_CODE, 1 }, head);
	ck_assert_int_eq(io_write_all(ends[1], head, sizeof(head)), 0);
	ck_assert_int_eq(wire_reader_fill(&reader, ends[0]), 0);
	while (done < sizeof(sent)) {
		size_t n = sizeof(sent) - done < 5000 ? sizeof(sent) - done : 5000;

		ck_assert_int_eq(r, 0);
		ck_assert_int_eq(io_write_all(ends[1], sent + done, n), 0);
		done += n;
		r = wire_reader_fill(&reader, ends[0]);
	}
	ck_assert_int_eq(r, 1);
	ck_assert_int_eq(memcmp(wire_reader_take(&reader, &h), sent, sizeof(sent)), 0);
	ck_assert_uint_eq(h.length, WIRE_PAYLOAD_MAX);
	(void)close(ends[0]);
	(void)close(ends[1]);
}
END_TEST

START_TEST(streams_cut_at_every_byte)
{
	unsigned char bytes[64];
	size_t length = make_frame(bytes, WIRE_TRACE, 1, "cut me");

	for (size_t i = 0; i <= length; i++) {
		int ends[2], r;

		memset(&reader, 0, sizeof(reader));
		make_pipe(ends);
		ck_assert_int_eq(io_write_all(ends[1], bytes, i), 0);
		(void)close(ends[1]);
		do
			r = wire_reader_fill(&reader, ends[0]);
		while (r == 0);
		ck_assert_int_eq(r, i == 0 ? -ENODATA : i < length ? -EPIPE : 1);
		(void)close(ends[0]);
	}
}
END_TEST

START_TEST(bad_headers_end_the_stream)
{
	static const struct {
		unsigned char bytes[WIRE_HEADER_BYTES];
		int result;
	} rows[] = {
		{ { 1, 0, 1, 0, WIRE_OUT }, -EMSGSIZE },
		{ { 0xff, 0xff, 0xff, 0xff, WIRE_OUT }, -EMSGSIZE },
		{ { 0, 0, 0, 0x80, WIRE_OUT }, -EMSGSIZE },
		{ { 0, 0, 0, 0, 0 }, -EBADMSG },
		{ { 0, 0, 0, 0, 7 }, -EBADMSG },
		{ { 0, 0, 0, 0, WIRE_OUT, 1 }, -EBADMSG },
		{ { 0, 0, 0, 0, WIRE_OUT, 0, 1 }, -EBADMSG },
		{ { 0, 0, 0, 0, WIRE_OUT, 0, 0, 1 }, -EBADMSG },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		int ends[2];

		memset(&reader, 0, sizeof(reader));
		make_pipe(ends);
		ck_assert_int_eq(
			io_write_all(ends[1], rows[i].bytes, WIRE_HEADER_BYTES - 1), 0);
		ck_assert_int_eq(wire_reader_fill(&reader, ends[0]), 0);
		ck_assert_int_eq(write(ends[1], rows[i].bytes + WIRE_HEADER_BYTES - 1, 1),
				 1);
		ck_assert_int_eq(wire_reader_fill(&reader, ends[0]), rows[i].result);
		/* and it stays an error: nothing more is read */
		ck_assert_int_eq(write(ends[1], "x", 1), 1);
		ck_assert_int_eq(wire_reader_fill(&reader, ends[0]), rows[i].result);
		ck_assert_uint_le(reader.have, WIRE_HEADER_BYTES);
		(void)close(ends[0]);
		(void)close(ends[1]);
	}
}
END_TEST

/* any bytes at all: every answer is one of the documented ones, and nothing overruns */
START_TEST(noise_is_survived)
{
	uint64_t state = 11;

	for (int round = 0; round < 300; round++) {
		unsigned char bytes[200];
		int ends[2], r;

		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = (unsigned char)unit_random(&state);
		/* some rounds get past the header's checks */
		if (round % 2)
			wire_pack(&(struct wire_header){ bytes[0], WIRE_OUT, 0 }, bytes);
		memset(&reader, 0, sizeof(reader));
		make_pipe(ends);
		ck_assert_int_eq(io_write_all(ends[1], bytes, sizeof(bytes)), 0);
		(void)close(ends[1]);
		do {
			r = wire_reader_fill(&reader, ends[0]);
			ck_assert_uint_le(reader.have, sizeof(reader.buf));
			if (r == 1) {
				struct wire_header h;

				(void)wire_reader_take(&reader, &h);
				ck_assert_uint_le(h.length, WIRE_PAYLOAD_MAX);
			}
		} while (r >= 0);
		ck_assert(r == -EPIPE || r == -ENODATA || r == -EMSGSIZE ||
			  r == -EBADMSG);
		(void)close(ends[0]);
	}
}
END_TEST

Suite *init_reader_suite(void)
{
	Suite *s = suite_create("init reader");
	TCase *c = tcase_create("reader");

	tcase_add_test(c, one_byte_at_a_time);
	tcase_add_test(c, all_in_one_go);
	tcase_add_test(c, an_empty_frame_is_whole_with_its_header);
	tcase_add_test(c, the_largest_frame_fits);
	tcase_add_test(c, streams_cut_at_every_byte);
	tcase_add_test(c, bad_headers_end_the_stream);
	tcase_add_test(c, noise_is_survived);
	suite_add_tcase(s, c);
	return s;
}
