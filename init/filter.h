/* SPDX-License-Identifier: MIT */
/*
 * filter.h - a seccomp allow list as rows, and the program made of them
 *
 * A table of rows is read by people and, at build time, by init/mkfilter.c, which lets
 * libseccomp compile it and writes the BPF instructions out as a C array. What runs in a
 * jail is that array: nothing is compiled while a jail starts.
 * Kernel: Documentation/userspace-api/seccomp_filter.rst
 */
#ifndef STEPJAIL_INIT_FILTER_H
#define STEPJAIL_INIT_FILTER_H

#include <stddef.h>
#include <stdint.h>

#include <linux/filter.h>

enum filter_when {
	ALWAYS,    /* whatever the arguments */
	ARG_EQ,    /* the argument's low 32 bits are value */
	ARG_CLEAR, /* none of value's bits is set in the argument */
	NEVER,     /* refused with errno value, where the default EPERM would mislead */
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

#endif
