/* SPDX-License-Identifier: MIT */
/*
 * warm_plan.h - what a template is told of its clones' plan: one struct of fixed size
 *
 * It holds what the stages of a clone read of struct plan and struct sources, as numbers
 * and char arrays: no pointer, no text to be parsed, no path of the host. The launcher
 * writes it into a sealed memfd. The template, which a jail confines, maps it, checks
 * every field, and makes its own struct plan of it; the two may have been built from
 * different sources.
 */
#pragma once

#include <limits.h>

#include "jail/walls/mount.h"

/* to be raised whenever a field changes its meaning; its size alone tells of most
 * changes */
#define WARM_PLAN_VERSION 4

#define WARM_HOSTNAME_BYTES 72 /* 64 are Linux's most; musl's HOST_NAME_MAX is another */

/* the limits that stages set */
#define WARM_PLAN_LIMITS                                                                 \
	LIMIT_TMP_BYTES, LIMIT_WORK_BYTES, LIMIT_INODES, LIMIT_MEMORY_BYTES, LIMIT_PIDS, \
		LIMIT_FILES, LIMIT_CPU_MS, LIMIT_FILE_BYTES, LIMIT_FILE_LOCKS

struct warm_plan {
	uint32_t version, bytes; /* WARM_PLAN_VERSION, sizeof(struct warm_plan) */
	uint32_t landlock_abi;   /* 0: the kernel has no Landlock */
	/* as in struct plan; the last four are 0 or 1 */
	uint32_t require, allow_missing, net, proc;
	uint32_t locked, deterministic, aslr, own_clock;
	uint32_t bind_count, call_count, zero;
	uint64_t limit[LIMIT_COUNT]; /* WARM_PLAN_LIMITS; NO_LIMIT in all others */
	uint64_t root_dev, root_ino; /* as in struct source */
	struct {
		int32_t nr, arg; /* as in struct plan_call */
		uint32_t value;
	} call[PLAN_CALLS_MAX];
	char hostname[WARM_HOSTNAME_BYTES];
	char chdir[PATH_MAX];
	/* behind the rest: of what is not used, no page is ever touched */
	struct {
		uint64_t dev, ino;
		uint32_t writable;       /* 0 or 1 */
		uint32_t mapped;         /* the same: each request has an fd of it */
		char name[NAME_MAX + 1]; /* the file in its folder, "" for a folder */
		char dst[PATH_MAX];
	} bind[PLAN_BINDS_MAX];
};

_Static_assert(sizeof(struct warm_plan) ==
		       56 + 8 * LIMIT_COUNT + 16 + 12 * PLAN_CALLS_MAX +
			       WARM_HOSTNAME_BYTES + PATH_MAX +
			       PLAN_BINDS_MAX * (24 + NAME_MAX + 1 + PATH_MAX),
	       "no padding: the same with every C library");

/**
 * warm_plan_map() - In the template: map the plan, and check every field of it
 * @memory:	From template_plan_send(); may be closed then
 *
 * Return: the plan, read-only, of sizeof(struct warm_plan) bytes, which the caller
 * unmaps; or NULL, and @e says in a line what it is that cannot be
 */
const struct warm_plan *warm_plan_map(int memory, struct err *e);

/** warm_plan_check() - The same of a struct in memory. Return: 0 or -EBADMSG */
int warm_plan_check(const struct warm_plan *w, struct err *e);

/**
 * warm_plan_read() - Make the stages' structs of a plan that was checked
 * @p:		Filled. Strings point into @w
 * @s:		Filled, but for the sources' paths, which the template has to know
 */
void warm_plan_read(const struct warm_plan *w, struct plan *p, struct sources *s);
