/* SPDX-License-Identifier: MIT */
/*
 * seccomp.c - the program's filter: see seccomp.h
 *
 * The filter was compiled when stepjail was built, out of the rows of
 * jail/plan/syscalls.c. When a jail starts, instructions are put before it: for what this
 * host lacks (denied_without.c), for a session (signal_guard.c), and for --allow-syscall.
 * prefix.c writes all three.
 *
 * Under --lock-code a random number, the key, is written into the filter. execve(2) takes
 * three arguments. The program's own start has the key in the register of a fourth one,
 * which the kernel does not read and the filter compares; no later execve gets through. A
 * started program has neither that register nor the memory that held the key, and a
 * filter cannot be read back without CAP_SYS_ADMIN.
 */
#include <string.h>
#include <sys/random.h>

#include "jail/walls/seccomp/signal_guard.h"
#include "jail/walls/seccomp/seccomp.h"
#include "jail/base/wipe.h"

#include "filter_program.h"

#define TOLD SECCOMP_RET_USER_NOTIF
#define REFUSED (SECCOMP_RET_ERRNO | EPERM)

static void replace_answer(struct sock_filter *code, size_t count, uint32_t answer,
			   uint32_t by)
{
	for (size_t i = 0; i < count; i++)
		if (code[i].code == (BPF_RET | BPF_K) && code[i].k == answer)
			code[i].k = by;
}

static int listen_on(const struct plan *p, struct sock_filter *code, size_t count,
		     int *listener, struct err *e)
{
	/* states of a session wait for the listener's answer, maybe for days */
	int r = filter_listen(code, count, !p->session);

	*listener = r < 0 ? -1 : r;
	if (r == -EBUSY && (p->allow_missing & PART_AUDIT)) {
		/* there is no listener to tell, so violations fail and are not
		 * recorded */
		replace_answer(code, count, TOLD, REFUSED);
		r = filter_load(code, count);
	} else if (r == -EBUSY) {
		return err_say(
			e, EBUSY,
			"seccomp: a surrounding sandbox or container listens to this process's calls already, and the kernel has one listener for each process: run outside of it, or by --allow-missing=audit without a record of violations");
	}
	return r < 0 ? err_set(e, -r, "seccomp: load %zu instructions", count) : 0;
}

static int set_key(struct sock_filter *code, size_t count, uint64_t *key, struct err *e)
{
	if (key && getrandom(key, sizeof(*key), 0) != sizeof(*key))
		return err_set(e, errno, "seccomp: getrandom");
	return filter_set_key(code, count, key) == 1
		       ? 0
		       : err_say(e, EINVAL, "seccomp: the filter has no key's place");
}

size_t seccomp_allow_code(const struct plan *p, struct sock_filter *code)
{
	size_t n = PREFIX_HEAD;

	if (p->call_count == 0)
		return 0;
	for (size_t i = 0; i < p->call_count; i++) {
		const struct plan_call *call = &p->call[i];
		const struct prefix_test test =
			PREFIX_IS((unsigned int)call->arg, call->value);

		n += prefix_row(code + n, call->nr, &test, call->arg >= 0,
				SECCOMP_RET_ALLOW);
	}
	prefix_head(code, n);
	return n;
}

int seccomp_install(const struct plan *p, unsigned int lacks, uint64_t *key,
		    int *listener, struct err *e)
{
	static struct sock_filter code[DENIED_WITHOUT_CODE_MAX + SIGNAL_GUARD_CODE_MAX +
				       ALLOW_CODE_MAX + BPF_MAXINSNS];
	bool locked = p->lock_code == LOCK_YES;
	size_t own = denied_without_code(lacks, code);
	const struct sock_filter *compiled =
		locked ? filter_program_locked : filter_program;
	size_t count = locked ? COUNT(filter_program_locked) : COUNT(filter_program);

	own += signal_guard_code(p, code + own);
	own += seccomp_allow_code(p, code + own);
	memcpy(code + own, compiled, count * sizeof(code[0]));
	/* for --learn the listener is told of all refused calls, not of violations
	 * alone */
	if (p->learn == ANSWER_YES)
		replace_answer(code, own + count, REFUSED, TOLD);
	if (key)
		*key = 0;

	int r = locked ? set_key(code + own, count, key, e) : 0;

	if (r == 0)
		r = listen_on(p, code, own + count, listener, e);
	wipe(code, sizeof(code));
	return r;
}
