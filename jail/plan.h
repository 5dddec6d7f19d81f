/* SPDX-License-Identifier: MIT */
/*
 * plan.h - what a run shall be: plain data, const once it is validated
 *
 * Options and policy files fill a plan, plan_validate() completes it, and from then on
 * nothing changes it. Strings belong to whoever parsed them (argv, a policy file's text)
 * and live as long as the process.
 */
#ifndef STEPJAIL_JAIL_PLAN_H
#define STEPJAIL_JAIL_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "init/err.h"

#define PLAN_BINDS_MAX 256
#define PLAN_ENV_MAX 256
#define NO_LIMIT UINT64_MAX

/* the program's user and group id inside every jail */
#define PLAN_PROGRAM_ID 1000u

enum limit {
	LIMIT_WALL_MS,
	LIMIT_CPU_MS,
	LIMIT_MEMORY_BYTES,
	LIMIT_CPUS_MILLI,
	LIMIT_PIDS,
	LIMIT_FILES,
	LIMIT_FILE_BYTES,
	LIMIT_TMP_BYTES,
	LIMIT_WORK_BYTES,
	LIMIT_INODES,
	LIMIT_COUNT,
};

enum plan_net { NET_NONE, NET_LOOPBACK };
enum plan_proc { PROC_PID, PROC_NONE };

enum plan_verify { VERIFY_NO, VERIFY_YES };

/* parts of the wall that may be missing when an option says so by name, and that must not;
 * bits in the order of the options' names */
enum plan_part { PART_CGROUP = 1u << 0 };
enum plan_required { REQUIRE_LANDLOCK = 1u << 0 };

struct plan_bind {
	const char *src; /* host path */
	const char *dst; /* path in the jail: absolute, no "." or ".." in it */
	bool writable;
};

struct plan {
	const char *rootfs; /* a name of a shipped tree, or a folder's path */
	const char *chdir;
	const char *hostname;
	const char *report; /* path, or an fd's number; NULL for none */
	enum plan_net net;
	enum plan_proc proc;
	enum plan_verify verify_rootfs;
	unsigned int allow_missing; /* enum plan_part bits */
	unsigned int require;       /* enum plan_required bits */
	uint64_t limit[LIMIT_COUNT];
	struct plan_bind bind[PLAN_BINDS_MAX];
	size_t bind_count;
	const char *env[PLAN_ENV_MAX + 1]; /* "KEY=value", NULL at the end */
	size_t env_count;
	char *const *argv; /* the program, NULL at the end; NULL for none */
};

/**
 * plan_init() - Fill in what holds when no option says otherwise
 */
void plan_init(struct plan *p);

/**
 * plan_add_bind() - Add one "SRC:DST"
 * @spec:	Split at its last colon; copied
 *
 * Return: 0, -EINVAL (not of that form, DST not a clean absolute path or one that the
 * jail keeps for itself), -EEXIST (DST given twice), -E2BIG, or -ENOMEM
 */
int plan_add_bind(struct plan *p, const char *spec, bool writable, struct err *e);

/**
 * plan_add_env() - Add or replace one "KEY=value"
 * @spec:	Kept, not copied
 *
 * Return: 0, -EINVAL (no key), -EEXIST (the same key given twice), or -E2BIG
 */
int plan_add_env(struct plan *p, const char *spec, struct err *e);

/**
 * plan_validate() - Refuse what contradicts itself
 *
 * Return: 0, or -EINVAL
 */
int plan_validate(const struct plan *p, struct err *e);

/**
 * plan_clean_path() - Is this path absolute, with no empty, "." or ".." part in it?
 *
 * Such a path can be opened with no symlink followed and never climbs.
 */
bool plan_clean_path(const char *path);

#endif
