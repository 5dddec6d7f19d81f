/* SPDX-License-Identifier: MIT */
/*
 * denied_without.h - system calls of the allow list that are refused where a wall behind
 * them lacks
 *
 * Two things are not known when the filter is built: whether a cgroup counts what the
 * jail uses, and what this kernel's Landlock can refuse. These instructions stand before
 * those of --allow-syscall, so no option lifts them. They refuse calls of the native
 * entry only; calls of other entries go on to the compiled filter, which refuses them
 * all.
 */
#pragma once

#include "jail/plan/plan.h"
#include "jail/walls/seccomp/prefix.h"

enum denied_without_lack {
	DENIED_WITHOUT_NO_CGROUP = 1,   /* memory that no process shows is not counted */
	DENIED_WITHOUT_NO_TRUNCATE = 2, /* Landlock ABI 1 or 2, Linux 5.13 to 6.1 */
	DENIED_WITHOUT_ONE_CPU = 4,     /* --deterministic: a program stays on its CPU */
	/* no cgroup counts CPU time; and code is locked, so no shell, which needs the
	 * call, can be started */
	DENIED_WITHOUT_LOCKED = 8,
	/* what other jails would learn in a network namespace that is leased */
	DENIED_WITHOUT_OWN_NETWORK = 16,
	DENIED_WITHOUT_FILE_LOCKS = 32, /* --file-locks 0 */
};

struct denied_without_row {
	enum denied_without_lack lack;
	const char *syscall;
	int nr;
	/* refused if all of them hold */
	struct prefix_test test[2];
	const char *why; /* what it would give a program that had it */
};

extern const struct denied_without_row denied_without_rows[];
extern const size_t denied_without_row_count;

/**
 * denied_without_lacks() - Which walls lack: a set of enum denied_without_lack. @p: NULL
 * for any plan
 */
unsigned int denied_without_lacks(bool cgroup, int landlock_abi, const struct plan *p);

/**
 * denied_without_code() - Write the instructions that go before all others
 * @lacks:	From denied_without_lacks()
 * @code:	Room for DENIED_WITHOUT_CODE_MAX
 *
 * Allocates nothing.
 *
 * Return: how many there are, 0 where nothing lacks
 */
size_t denied_without_code(unsigned int lacks, struct sock_filter *code);

#define DENIED_WITHOUT_CODE_MAX 200
