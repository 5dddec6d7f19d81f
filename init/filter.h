/* SPDX-License-Identifier: MIT */
/*
 * filter.h - a seccomp allow list as rows, and the program made of them
 *
 * A table of rows is read by people and, at build time, by init/mkfilter.c, which lets
 * libseccomp compile it and writes the BPF instructions out as a C array. What runs in a
 * jail is that array: nothing is compiled while a jail starts.
 * Kernel: Documentation/userspace-api/seccomp_filter.rst
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/filter.h>

#include "init/count.h"

enum filter_when {
	ALWAYS,    /* whatever the arguments */
	ARG_EQ,    /* the argument's low 32 bits are value */
	ARG_CLEAR, /* none of value's bits is set in the argument */
	NOT_INIT,  /* the argument is a PID other than 1; of setpriority(2), the argument
		      before is PRIO_PROCESS */
	IP_SOCKET, /* of socket(2): the family is AF_INET or AF_INET6, the protocol TCP,
		      UDP or ICMP */
	NONE_OR_ALL, /* of personality(2): none of the argument's low 32 bits is set, or
			all; a listener is told of anything else */
	OWN_LIMIT,   /* of setrlimit(2) and prlimit(2): the caller's own limit; arg is the
		      resource, and RLIMIT_CORE may only be read */
	NEVER,       /* refused with errno value, where the default EPERM would mislead */
};

struct filter_row {
	const char *syscall; /* a name this architecture lacks is passed over */
	enum filter_when when;
	unsigned int arg; /* 0 to 5 */
	uint64_t value;
	const char *why; /* why the program needs it, or why it is harmless */
};

/* one table is linked with init/mkfilter.c into each generator */
extern const struct filter_row filter_rows[];
extern const size_t filter_row_count;
/* the name of the array that the generator writes */
extern const char filter_name[];

enum refused_when {
	REFUSED_ALWAYS, /* whatever the arguments */
	REFUSED_EQ,     /* the argument's low 32 bits are value */
	REFUSED_BIT,    /* value's one bit is set in the argument */
	REFUSED_KEY,    /* the argument is not FILTER_KEY */
	REFUSED_MIXED,  /* the argument has a bit of value, but not all 32 bits */
};

/* a call that no row of an allow list lets through, in words */
struct refused_row {
	const char *syscall;
	enum refused_when when;
	unsigned int arg; /* 0 to 5 */
	uint32_t value;
	const char *label; /* the value's own name, NULL where there is none */
	bool violation;    /* no honest step does this: a listener is told of it */
	bool barred;       /* no option lets it through */
	const char *why;   /* what it would give a program that had it */
};

/* A generator may be linked with these tables, too. Violations among refused_rows then
 * notify a listener instead of failing. A second program is then written for --lock-code:
 * in it locked_rows are violations, also where the allow list lets the calls through. */
extern const struct refused_row refused_rows[], locked_rows[];
extern const size_t refused_row_count, locked_row_count;

/* A generated program has this number where a random key belongs. filter_set_key() puts
 * the key there before the program is loaded. */
#define FILTER_KEY 0x5ec2e75ec1a551c5ULL

/**
 * filter_load() - Install a filter on the calling thread, for good
 * @code:	Instructions, as generated at build time
 * @count:	How many
 *
 * no_new_privs must be set. Follows seccomp(2), SECCOMP_SET_MODE_FILTER.
 *
 * Return: 0, or -errno of seccomp(2)
 */
int filter_load(const struct sock_filter *code, size_t count);

/**
 * filter_listen() - Install a filter, and get the listener for calls that notify
 * @deadly:	From Linux 5.19 on, only a deadly signal interrupts a call that the
 *		listener has taken. A process that waits like this cannot be frozen, and
 *		counts as load
 *
 * Return: a close-on-exec fd (see seccomp_unotify(2)), -EBUSY where the thread has a
 * listener already, or another -errno
 */
int filter_listen(const struct sock_filter *code, size_t count, bool deadly);

/**
 * filter_set_key() - Put a number in the place of FILTER_KEY
 * @key:	NULL: no number at all passes there
 *
 * Return: how many times FILTER_KEY stood there
 */
int filter_set_key(struct sock_filter *code, size_t count, const uint64_t *key);
