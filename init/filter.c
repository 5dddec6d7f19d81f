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
		/* the kernel only reads the code; the field lacks a const */
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

	/* before Linux 5.19 the listener hears again of a call that a signal
	 * interrupted */
	if (r == -EINVAL && deadly)
		r = load(code, count, SECCOMP_FILTER_FLAG_NEW_LISTENER);
	return (int)r;
}

int filter_set_key(struct sock_filter *code, size_t count, const uint64_t *key)
{
	int found = 0;

	/* a 64-bit argument is compared by halves */
	for (size_t i = 0; i < count; i++) {
		bool high = code[i].k == (uint32_t)(FILTER_KEY >> 32);

		if (code[i].code != (BPF_JMP | BPF_JEQ | BPF_K) ||
		    (!high && code[i].k != (uint32_t)FILTER_KEY))
			continue;
		code[i].k = key ? (uint32_t)(*key >> (high ? 32 : 0)) : 0;
		/* without a key every number goes on where a wrong one does */
		if (!key)
			code[i].jt = code[i].jf;
		found++;
	}
	return found / 2;
}
