/* SPDX-License-Identifier: MIT */
/*
 * bpf.h - the generated filters, and a small interpreter of the classic BPF that they are
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "init/filter.h"

#define ALLOWED SECCOMP_RET_ALLOW
#define TOLD SECCOMP_RET_USER_NOTIF
#define REFUSED(errnum) (SECCOMP_RET_ERRNO | (uint32_t)(errnum))
#define X32_BIT 0x40000000u

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE AUDIT_ARCH_AARCH64
#endif

extern const struct filter_row jail_filter_rows[], init_filter_rows[];
extern const size_t jail_filter_row_count, init_filter_row_count;

/* the native entry, 32-bit ones, other machines', and three that are none */
#define BPF_ARCHS 11
extern const uint32_t bpf_archs[BPF_ARCHS];

/* a generated program, and the rows that it was made of */
struct bpf_program {
	const struct filter_row *rows;
	const size_t *row_count;
	const struct sock_filter *code;
	size_t length;
	bool tells, locked;
};

/* the program's two variants, then init's one */
enum { PLAIN, LOCKED, INIT, PROGRAM_COUNT };
extern const struct bpf_program bpf_programs[PROGRAM_COUNT];

/**
 * bpf_run() - What a filter answers; aborts the test where the kernel would not load it
 *
 * See seccomp(2), linux/bpf_common.h.
 */
uint32_t bpf_run(const struct sock_filter *code, size_t length,
		 const struct seccomp_data *data);

/** bpf_ask() - What a generated program answers to a call through the native entry */
uint32_t bpf_ask(int program, long nr, uint64_t arg0, uint64_t arg1, uint64_t arg2,
		 uint64_t arg3);

/** bpf_check() - The kernel's own conditions, but for those that bpf_run() checks */
void bpf_check(const struct sock_filter *code, size_t length);
