/* SPDX-License-Identifier: MIT */
/*
 * prefix.c - instructions that a plan or a host puts before the compiled filter: see
 * prefix.h
 */

#include "jail/plan/call.h"
#include "jail/walls/seccomp/prefix.h"

#define FIELD(name) (uint32_t) offsetof(struct seccomp_data, name)
#define STATEMENT(code, k) (struct sock_filter) BPF_STMT(code, k)
#define LOAD(offset) STATEMENT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(offset))
#define UNLESS_EQUAL(number, skip)                                                       \
	(struct sock_filter)                                                             \
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(number), 0, skip)

size_t prefix_row(struct sock_filter *code, int nr, const struct prefix_test *tests,
		  size_t count, uint32_t answer)
{
	size_t n = 0;

	code[n++] = UNLESS_EQUAL(nr, 0);
	for (size_t i = 0; i < count; i++) {
		if (tests[i].mask == 0)
			continue;
		code[n++] = LOAD(FIELD(args) + 8 * tests[i].arg + 4 * tests[i].high);
		if (tests[i].mask != UINT32_MAX)
			code[n++] = STATEMENT(BPF_ALU | BPF_AND | BPF_K, tests[i].mask);
		code[n++] = UNLESS_EQUAL(tests[i].value, 0);
		code[n - 1].jt = tests[i].differs;
	}
	code[n++] = STATEMENT(BPF_RET | BPF_K, answer);
	if (n > 2)
		code[n++] = LOAD(FIELD(nr));
	/* another call jumps behind the row; a test that fails, to what loads the call
	 * again */
	for (size_t i = 0; i < n; i++)
		if (code[i].code == (BPF_JMP | BPF_JEQ | BPF_K))
			*(code[i].jt ? &code[i].jt : &code[i].jf) =
				(unsigned char)(n - i - 1 - (i > 0));
	return n;
}

void prefix_head(struct sock_filter *code, size_t count)
{
	code[0] = LOAD(FIELD(arch));
	code[1] = UNLESS_EQUAL(CALL_NATIVE, (unsigned char)(count - 2));
	code[2] = LOAD(FIELD(nr));
}
