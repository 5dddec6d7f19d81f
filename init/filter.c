/* SPDX-License-Identifier: MIT */
/*
 * filter.c - install a seccomp filter: see filter.h
 */
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/seccomp.h>

#include "init/filter.h"

static long load(const struct sock_filter *code, size_t count, unsigned long flags)
{
	struct sock_fprog program = {
		.len = (unsigned short)count,
		/* the kernel only reads it; the field lacks a const */
		.filter = (struct sock_filter *)(uintptr_t)code,
	};
	long r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);

	return r < 0 ? -errno : r;
}

int filter_load(const struct sock_filter *code, size_t count)
{
	return (int)load(code, count, 0);
}

int filter_listen(const struct sock_filter *code, size_t count, bool deadly)
{
	long r = load(code, count,
		      SECCOMP_FILTER_FLAG_NEW_LISTENER |
			      (deadly ? SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV : 0UL));

	/* before Linux 5.19 a call that a signal interrupts is told of once more */
	if (r == -EINVAL && deadly)
		r = load(code, count, SECCOMP_FILTER_FLAG_NEW_LISTENER);
	return (int)r;
}

int filter_set_no_key(struct sock_filter *code, size_t count)
{
	int found = 0;

	/* whatever is compared with a half of it takes the way of what differs */
	for (size_t i = 0; i < count; i++) {
		if (code[i].code != (BPF_JMP | BPF_JEQ | BPF_K) ||
		    (code[i].k != (uint32_t)(FILTER_KEY >> 32) &&
		     code[i].k != (uint32_t)FILTER_KEY))
			continue;
		code[i].jt = code[i].jf;
		code[i].k = 0;
		found++;
	}
	return found / 2;
}

int filter_set_key(struct sock_filter *code, size_t count, uint64_t key)
{
	int found = 0;

	/* a 64-bit argument is compared by halves */
	for (size_t i = 0; i < count; i++) {
		if (code[i].code != (BPF_JMP | BPF_JEQ | BPF_K))
			continue;
		if (code[i].k == (uint32_t)(FILTER_KEY >> 32)) {
			code[i].k = (uint32_t)(key >> 32);
			found++;
		} else if (code[i].k == (uint32_t)FILTER_KEY) {
			code[i].k = (uint32_t)key;
			found++;
		}
	}
	return found / 2;
}
