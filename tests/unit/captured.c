/* SPDX-License-Identifier: MIT */
/*
 * captured.c - a capture, and the bytes that it is given: see captured.h
 */
#include "tests/unit/captured.h"
#include "tests/unit/suites.h"

struct capture captured;
struct plan captured_plan;
int captured_stdio[3];

void captured_start(void)
{
	unit_lives_on();
	captured = (struct capture)CAPTURE_NONE;
	captured_stdio[0] = captured_stdio[1] = captured_stdio[2] = -1;
	plan_init(&captured_plan);
	captured_plan.capture = CAPTURE_BOTH;
	captured_plan.limit[LIMIT_OUTPUT_BYTES] = CAPTURED_LIMIT;
	captured_plan.limit[LIMIT_SPILL_BYTES] = NO_LIMIT;
}

void captured_open(void)
{
	struct err e = { 0 };

	ck_assert_msg(capture_open(&captured, captured_stdio, &captured_plan, &e) == 0,
		      "%s", e.text);
}

unsigned char captured_byte(uint64_t place)
{
	return (unsigned char)((place * 7 + place / 128) & 0x7f);
}

void captured_add_up_to(struct capture_stream *s, uint64_t total, size_t piece)
{
	unsigned char bytes[70000];

	while (s->bytes < total) {
		size_t n = piece < total - s->bytes ? piece : (size_t)(total - s->bytes);

		for (size_t i = 0; i < n; i++)
			bytes[i] = captured_byte(s->bytes + i);
		capture_add(s, bytes, n);
	}
}
