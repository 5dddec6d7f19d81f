/* SPDX-License-Identifier: MIT */
/*
 * plan.h - the plan of a run: plain data, const once it is validated
 *
 * Options and policy files fill a plan. plan_complete() checks and completes it, and
 * nothing changes it afterwards. Its strings lie in argv or in the text of a policy file,
 * and live as long as the process.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "init/err.h"

#define PLAN_BINDS_MAX 256
#define PLAN_ENV_MAX 256
#define PLAN_CALLS_MAX 32
#define PLAN_IO_MAX 8
#define PLAN_HOSTS_MAX 64
#define PLAN_HEADERS_MAX 8
#define PLAN_HEADER_NAME_MAX 127
#define PLAN_KEEP_STATES_MAX 256 /* --keep-states */
#define NO_LIMIT UINT64_MAX

/* the program's user and group id inside every jail */
#define PLAN_PROGRAM_ID 1000u

enum limit {
	LIMIT_WALL_MS,
	LIMIT_CPU_MS,
	LIMIT_MEMORY_BYTES,
	LIMIT_MEMORY_HIGH_BYTES,
	LIMIT_SWAP_BYTES,
	LIMIT_CPUS_MILLI,
	LIMIT_CPU_WEIGHT,
	LIMIT_PIDS,
	LIMIT_FILES,
	LIMIT_FILE_BYTES,
	LIMIT_TMP_BYTES,
	LIMIT_WORK_BYTES,
	LIMIT_INODES,
	LIMIT_FILE_LOCKS, /* 0: the calls are refused */
	LIMIT_OUTPUT_BYTES,
	LIMIT_OUT_BYTES,
	LIMIT_EGRESS_BYTES,
	LIMIT_SEED,
	LIMIT_VM_BYTES,
	LIMIT_TOTAL_MEMORY_BYTES, /* of all jails together */
	LIMIT_TOTAL_PIDS,
	LIMIT_TOTAL_CPUS_MILLI,
	LIMIT_GRACE_MS, /* from here on: of sessions */
	LIMIT_SESSIONS,
	LIMIT_KEEP_STATES,
	LIMIT_KEEP_BYTES,
	LIMIT_MEDIA_BYTES,
	LIMIT_TEMPLATE_CLONES,
	LIMIT_TEMPLATE_MS,
	LIMIT_COUNT,
};

/* of --allow-host, on the jail's loopback */
#define PROXY_PORT 3128
#define PROXY_URL "http://127.0.0.1:3128"

enum plan_net { NET_NONE, NET_LOOPBACK, NET_ENTERED };
enum plan_net_namespace { NET_LEASED, NET_FRESH };
enum plan_proc { PROC_PID, PROC_NONE };
/* LOCK_AUTO: plan_complete() replaces it. LOCK_WARM: serve locks code where sessions are
 * cloned from a template; everywhere else it is LOCK_NO. option.c has the names in this
 * order. */
enum plan_lock { LOCK_AUTO, LOCK_NO, LOCK_YES, LOCK_WARM };
enum plan_violation { VIOLATION_REFUSE, VIOLATION_KILL };
enum plan_capture { CAPTURE_NO, CAPTURE_BOTH, CAPTURE_STDERR };
enum plan_answer { ANSWER_NO, ANSWER_YES };
enum plan_aslr { ASLR_YES, ASLR_NO };

/* the parts that --allow-missing can name, and those that --require can name: bits in the
 * order of the names in option.c */
enum plan_part {
	PART_CGROUP = 1u << 0,
	PART_AUDIT = 1u << 1, /* the record of violations */
};
enum plan_required { REQUIRE_LANDLOCK = 1u << 0 };

struct plan_bind {
	const char *src; /* host path */
	const char *dst; /* path in the jail: absolute, no "." or ".." in it */
	bool writable;
};

/* a system call that the policy allows beyond the table of syscalls.c */
struct plan_call {
	const char *spec; /* the option's value */
	int nr;
	int arg; /* index of the argument that must be equal to value, -1 for none */
	uint32_t value;
};

enum plan_rate { RATE_RBPS, RATE_WBPS, RATE_RIOPS, RATE_WIOPS, RATE_COUNT };

struct plan_io {
	const char *spec;          /* the option's value */
	int device_length;         /* of its first word, the device */
	uint64_t rate[RATE_COUNT]; /* bytes or operations a second, or NO_LIMIT */
};

struct plan {
	const char *rootfs; /* a name of a shipped tree, or a folder's path */
	const char *chdir;
	const char *hostname;
	const char *report; /* path, or an fd's number; NULL for none */
	const char *hold;   /* two or four fds' numbers, NULL for none */
	const char *out;    /* folder for what is in /work/out at the end, or NULL */
	enum plan_answer out_hidden; /* names that begin with a dot, too */
	enum plan_answer cold;       /* sessions are executed, not cloned */
	const char *preload; /* modules of a session's interpreter, NULL for none */
	enum plan_capture capture;
	enum plan_net net;
	const char *net_path; /* the namespace that is entered; with NET_ENTERED alone */
	enum plan_wall { WALL_KERNEL, WALL_VM } wall;
	enum plan_net_namespace net_namespace;
	enum plan_proc proc;
	enum plan_lock lock_code;
	enum plan_violation on_violation;
	enum plan_answer learn;
	enum plan_answer
		quiet; /* no warnings, nothing about limits, --out and refused calls */
	enum plan_answer oom_group; /* out of memory, all processes end */
	const char *cpuset;         /* list of CPUs, NULL for all */
	struct plan_io io[PLAN_IO_MAX];
	size_t io_count;
	enum plan_answer deterministic; /* see walls/deterministic.h */
	enum plan_aslr aslr;            /* address space layout randomisation */
	const char *clock_start;        /* a time, NULL for the host's clocks */
	enum plan_answer verify_rootfs;
	unsigned int allow_missing; /* enum plan_part bits */
	unsigned int allow_always;  /* of these, those that a file of defaults names */
	unsigned int require;       /* enum plan_required bits */
	uint64_t limit[LIMIT_COUNT];
	struct plan_bind bind[PLAN_BINDS_MAX];
	size_t bind_count;
	struct plan_call call[PLAN_CALLS_MAX];
	size_t call_count;
	const char *env[PLAN_ENV_MAX + 1]; /* "KEY=value", NULL at the end */
	size_t env_count;
	const char *host[PLAN_HOSTS_MAX]; /* HOST:PORT,... of --allow-host */
	size_t host_count;
	const char *header[PLAN_HEADERS_MAX]; /* HOST:NAME=FILE of --secret-header */
	size_t header_count;
	const char *serve_option; /* on the command line, NULL for none */
	bool session;             /* the program is an interpreter that serves steps */
	char *const *argv;        /* the program, NULL at the end; NULL for none */
	/* Set by template_start(), by no option: the program is a template, from which
	 * jails are cloned. A template runs no user's code. */
	bool template;
};

/** plan_init() - Fill in the defaults of everything but limits */
void plan_init(struct plan *p);

/**
 * plan_add_bind() - Add one "SRC:DST", in place of an earlier one with that DST
 * @spec:	Split at its last colon; copied
 *
 * Return: 0, -EINVAL (not of that form; DST not a clean absolute path, or reserved for
 * the jail), -E2BIG, or -ENOMEM
 */
int plan_add_bind(struct plan *p, const char *spec, bool writable, struct err *e);

/**
 * plan_add_env() - Add or replace one "KEY=value"
 * @spec:	Kept, not copied
 *
 * Return: 0, -EINVAL (no key), or -E2BIG
 */
int plan_add_env(struct plan *p, const char *spec, struct err *e);

/**
 * plan_add_io() - Add one "DEVICE rbps=N wbps=N riops=N wiops=N", any of the four, in
 * place of an earlier one of that DEVICE
 * @spec:	Kept, not copied; the device is looked up when the jail is made
 *
 * Return: 0, -EINVAL (not of that form), -ERANGE, -EEXIST (a key twice), or -E2BIG
 */
int plan_add_io(struct plan *p, const char *spec, struct err *e);

/**
 * plan_add_call() - Add one system call, "NAME" or "NAME=VALUE", that the policy allows
 * beyond the table of syscalls.c
 * @spec:	Kept, not copied. VALUE, in decimal or in hexadecimal behind 0x, must be
 *		given for the calls of call_telling(): only calls with that argument are
 *		allowed
 *
 * Return: 0, -EINVAL (no such call; VALUE missing, or given to another call), -EPERM (no
 * policy may allow it: @e says why), or -E2BIG
 */
int plan_add_call(struct plan *p, const char *spec, struct err *e);

/**
 * plan_check_calls() - Refuse a plan that allows a call which its own --lock-code refuses
 */
int plan_check_calls(const struct plan *p, struct err *e);

/**
 * plan_add_host() - Allow one HOST:PORT, or more with commas between, see
 * jail/egress/place/place.h; in jail/egress/
 * @spec:	Kept, not copied
 *
 * Return: 0, -EINVAL, or -E2BIG
 */
int plan_add_host(struct plan *p, const char *spec, struct err *e);

/** plan_add_header() - The same of one HOST:NAME=FILE, a secret for HOST:443 */
int plan_add_header(struct plan *p, const char *spec, struct err *e);

/**
 * plan_complete_egress() - A part of plan_complete(): loopback, and variables that name
 * the proxy, where a host is allowed
 *
 * Return: 0, -EINVAL (a secret for a host that is not allowed), or -E2BIG
 */
int plan_complete_egress(struct plan *p, struct err *e);

/**
 * timestamp_parse() - Read a time in UTC
 * @text:	2024-02-29T12:00:00Z, 2024-02-29 for its midnight, or seconds since 1970
 * @seconds:	Since 1970
 *
 * Return: 0, -EINVAL (not of these forms, or no day of the calendar), or -ERANGE (before
 * 1970 or after 2199)
 */
int timestamp_parse(const char *text, uint64_t *seconds, struct err *e);

/**
 * plan_check_clock_start() - Is this a time that a clock can start at? See timestamp.h
 *
 * Return: 0, -EINVAL, or -ERANGE
 */
int plan_check_clock_start(const char *text, struct err *e);

/**
 * plan_complete_deterministic() - A part of plan_complete(): tell the program by its
 * environment what --deterministic and --clock-start fix
 *
 * The variables' texts are static: one plan of a process at a time may have them. The
 * jail's own part is walls/deterministic.h.
 *
 * Return: 0, -EINVAL (--env contradicts them), or -E2BIG (too many variables)
 */
int plan_complete_deterministic(struct plan *p, struct err *e);

typedef int plan_find_root(const char *given, char *path, size_t size, struct err *e);

/**
 * plan_take_script() - Where the program is a Python file of the host, run that
 *
 * A path that ends in ".py" and is a file there: it is bound, read-only, into /work, which
 * is where a program starts, and /bin/python3 runs it. A file that the jail has itself,
 * in its root tree or by a bind, goes before an absolute path, and behind "python3" before a
 * relative one.
 * @find:	shipped_root(), of a later room
 *
 * Return: 0, also for every other program, or -errno
 */
int plan_take_script(struct plan *p, plan_find_root *find, struct err *e);

/** plan_is_on_host() - Is there a file of that path, or in the caller's PATH? */
bool plan_is_on_host(const char *program);

/**
 * plan_complete() - Refuse options that contradict each other, and replace LOCK_AUTO
 *
 * Return: 0, or -EINVAL
 */
int plan_complete(struct plan *p, struct err *e);
