/* SPDX-License-Identifier: MIT */
/*
 * signal_guard.c - no signal of a step to the states of its session, and no change of
 * their priority or place: see signal_guard.h
 */
#include <sys/syscall.h>

#include "jail/walls/seccomp/signal_guard.h"

#define TOLD SECCOMP_RET_USER_NOTIF
#define REFUSED (SECCOMP_RET_ERRNO | EPERM)

/* fcntl(2); a libc may not have them all */
enum { SETOWN = 8, SETSIG = 10, SETOWN_EX = 15, SETLEASE = 1024, NOTIFY = 1026 };

static const struct {
	int nr;
	int arg; /* must be value for this row to hold; -1: whatever the arguments */
	uint32_t value, action;
} rows[] = {
	{ SYS_kill, -1, 0, TOLD },
	{ SYS_tkill, -1, 0, TOLD },
	{ SYS_tgkill, -1, 0, TOLD },
	{ SYS_rt_sigqueueinfo, -1, 0, TOLD },
	{ SYS_rt_tgsigqueueinfo, -1, 0, TOLD },
	/* these change the priority of a process, or its CPUs */
	{ SYS_setpriority, -1, 0, TOLD },
	{ SYS_sched_setaffinity, -1, 0, TOLD },
	/* the same, where the plan allows the call: see is_there() */
	{ SYS_sched_setscheduler, -1, 0, TOLD },
	{ SYS_sched_setparam, -1, 0, TOLD },
	{ SYS_sched_setattr, -1, 0, TOLD },
	{ SYS_ioprio_set, -1, 0, TOLD },
	{ SYS_pidfd_send_signal, -1, 0, REFUSED },
	/* a timer's signal could stop or wake the process during a later step, when the
	 * process is a state that waits */
	{ SYS_timer_create, -1, 0, REFUSED },
	/* these choose whom an fd's signal goes to, and which signal */
	{ SYS_fcntl, 1, SETOWN, REFUSED },
	{ SYS_fcntl, 1, SETOWN_EX, REFUSED },
	{ SYS_fcntl, 1, SETSIG, REFUSED },
	/* these would signal, during a later step, the state that this step becomes */
	{ SYS_fcntl, 1, SETLEASE, REFUSED },
	{ SYS_fcntl, 1, NOTIFY, REFUSED },
};

/* Four of these calls are refused by the compiled filter: they need their rows only where
 * --allow-syscall lets them through. */
static bool is_there(const struct plan *p, int nr)
{
	if (nr != SYS_sched_setscheduler && nr != SYS_sched_setparam &&
	    nr != SYS_sched_setattr && nr != SYS_ioprio_set)
		return true;
	for (size_t i = 0; i < p->call_count; i++)
		if (p->call[i].nr == nr)
			return true;
	return false;
}

size_t signal_guard_code(const struct plan *p, struct sock_filter *code)
{
	size_t n = PREFIX_HEAD;

	if (!p->session)
		return 0;
	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct prefix_test test =
			PREFIX_IS((unsigned int)rows[i].arg, rows[i].value);

		if (!is_there(p, rows[i].nr))
			continue;
		n += prefix_row(code + n, rows[i].nr, &test, rows[i].arg >= 0,
				rows[i].action);
	}
	prefix_head(code, n);
	return n;
}

bool signal_guard_asks(const struct plan *p, const struct seccomp_data *call)
{
	for (size_t i = 0; i < COUNT(rows); i++)
		if (rows[i].action == TOLD && rows[i].nr == call->nr &&
		    call->arch == CALL_NATIVE)
			return is_there(p, call->nr);
	return false;
}
