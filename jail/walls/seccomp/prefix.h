/* SPDX-License-Identifier: MIT */
/*
 * prefix.h - instructions that a plan or a host puts before the compiled filter
 *
 * A block answers some calls of the native entry and passes all others on to what follows
 * it. Calls of other entries, and those with x32's numbers, match no row: the compiled
 * filter refuses them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/filter.h>

/* of an argument's low 32 bits; a mask of 0 is no test */
struct prefix_test {
	unsigned int arg;
	uint32_t mask, value;
	bool high;    /* of its high 32 bits instead */
	bool differs; /* holds where they are not the value */
};

/* of this argument these bits, and no other of them */
#define PREFIX_BITS(number, bits, is)                                                    \
	{                                                                                \
		.arg = (number), .mask = (bits), .value = (is)                           \
	}

/* this argument is this number */
#define PREFIX_IS(number, is) PREFIX_BITS(number, UINT32_MAX, is)

#define PREFIX_HEAD 3 /* instructions of a block beside its rows */
#define PREFIX_ROW_MAX(tests) (3 + 3 * (tests)) /* of a row, at the most */

/**
 * prefix_row() - Write a row: this call, where all tests hold, has this answer
 *
 * As a filter is loaded, the kernel walks through all rows once for every call there is,
 * to know which are always allowed. So to other calls a row is one instruction.
 * @code:	Room for PREFIX_ROW_MAX(@count)
 * @answer:	SECCOMP_RET_ value, see seccomp(2)
 *
 * Return: how many instructions it is
 */
size_t prefix_row(struct sock_filter *code, int nr, const struct prefix_test *tests,
		  size_t count, uint32_t answer);

/**
 * prefix_head() - Write the head of a block, whose rows are there already
 * @code:	The block; its rows begin at PREFIX_HEAD
 * @count:	Instructions of the block, its head among them; at most UINT8_MAX
 */
void prefix_head(struct sock_filter *code, size_t count);
