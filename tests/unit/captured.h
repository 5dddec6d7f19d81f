/* SPDX-License-Identifier: MIT */
/*
 * captured.h - a capture whose streams tell of each byte where it stood
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "jail/watch/capture.h"
#include "jail/plan/plan.h"

#define CAPTURED_LIMIT 1024 /* what is kept of a stream, unless the plan is changed */

extern struct capture captured;
extern struct plan captured_plan; /* of both streams */
extern int captured_stdio[3];     /* what the program gets */

/** captured_start() - A fixture: the plan as above, and nothing opened */
void captured_start(void);

/** captured_open() - Open it by the plan; fails the test where that fails */
void captured_open(void);

/** captured_byte() - The byte at a place; it is no part of UTF-8's longer forms */
unsigned char captured_byte(uint64_t place);

/** captured_add_up_to() - Add to a stream until it has had @total bytes, in such
 * pieces */
void captured_add_up_to(struct capture_stream *s, uint64_t total, size_t piece);
