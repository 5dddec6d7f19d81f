/* SPDX-License-Identifier: MIT */
/*
 * filter.c - install a seccomp filter: see filter.h
 */
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/seccomp.h>

#include "init/filter.h"

int filter_load(const struct sock_filter *code, size_t count)
{
	struct sock_fprog program = {
		.len = (unsigned short)count,
		/* the kernel only reads it; the field lacks a const */
		.filter = (struct sock_filter *)(uintptr_t)code,
	};

	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0UL, &program) < 0)
		return -errno;
	return 0;
}
