/* SPDX-License-Identifier: MIT */
/*
 * bpf.c - an interpreter of seccomp's BPF: see bpf.h
 */
#include <string.h>

#include "tests/unit/bpf.h"
#include "tests/unit/suites.h"

#include "filter_init.h"
#include "filter_program.h"

const uint32_t bpf_archs[BPF_ARCHS] = {
	NATIVE,
	AUDIT_ARCH_I386,
	AUDIT_ARCH_ARM,
	AUDIT_ARCH_X86_64,
	AUDIT_ARCH_AARCH64,
	AUDIT_ARCH_PPC64LE,
	AUDIT_ARCH_S390X,
	AUDIT_ARCH_MIPS,
	NATIVE ^ 1,
	0,
	UINT32_MAX,
};

const struct bpf_program bpf_programs[PROGRAM_COUNT] = {
	{ jail_filter_rows, &jail_filter_row_count, filter_program, COUNT(filter_program),
	  true, false },
	{ jail_filter_rows, &jail_filter_row_count, filter_program_locked,
	  COUNT(filter_program_locked), true, true },
	{ init_filter_rows, &init_filter_row_count, filter_init, COUNT(filter_init),
	  false, false },
};

static uint32_t load(const struct seccomp_data *data, uint32_t offset)
{
	uint32_t word;

	HOLDS(offset % 4 == 0 && offset <= sizeof(*data) - 4);
	memcpy(&word, (const char *)data + offset, 4);
	return word;
}

static bool jumps(uint16_t code, uint32_t a, uint32_t k)
{
	switch (BPF_OP(code)) {
	case BPF_JEQ:
		return a == k;
	case BPF_JGT:
		return a > k;
	case BPF_JGE:
		return a >= k;
	case BPF_JSET:
		return (a & k) != 0;
	default:
		ck_abort_msg("jump %#x is not one that libseccomp makes", code);
		return false;
	}
}

uint32_t bpf_run(const struct sock_filter *code, size_t length,
		 const struct seccomp_data *data)
{
	uint32_t a = 0;

	for (size_t pc = 0; pc < length; pc++) {
		const struct sock_filter *i = &code[pc];

		switch (BPF_CLASS(i->code)) {
		case BPF_LD:
			HOLDS(i->code == (BPF_LD | BPF_W | BPF_ABS));
			a = load(data, i->k);
			break;
		case BPF_ALU:
			HOLDS(i->code == (BPF_ALU | BPF_AND | BPF_K));
			a &= i->k;
			break;
		case BPF_RET:
			HOLDS(i->code == (BPF_RET | BPF_K));
			return i->k;
		default:
			HOLDS(BPF_CLASS(i->code) == BPF_JMP);
			if (i->code == (BPF_JMP | BPF_JA))
				pc += i->k;
			else
				pc += jumps(i->code, a, i->k) ? i->jt : i->jf;
		}
	}
	ck_abort_msg("the program runs past its end");
	return 0;
}

uint32_t bpf_ask(int program, long nr, uint64_t arg0, uint64_t arg1, uint64_t arg2,
		 uint64_t arg3)
{
	struct seccomp_data data = {
		.nr = (int)nr,
		.arch = NATIVE,
		.args = { arg0, arg1, arg2, arg3 },
	};

	return bpf_run(bpf_programs[program].code, bpf_programs[program].length, &data);
}

void bpf_check(const struct sock_filter *code, size_t length)
{
	ck_assert_uint_gt(length, 0);
	ck_assert_uint_le(length, BPF_MAXINSNS);
	ck_assert_uint_eq(BPF_CLASS(code[length - 1].code), BPF_RET);
	for (size_t pc = 0; pc < length; pc++) {
		const struct sock_filter *i = &code[pc];

		if (BPF_CLASS(i->code) != BPF_JMP)
			continue;
		if (BPF_OP(i->code) == BPF_JA)
			ck_assert_uint_lt(i->k, length - pc - 1);
		else
			ck_assert(pc + i->jt + 1 < length && pc + i->jf + 1 < length);
	}
}
