/* SPDX-License-Identifier: MIT */
/*
 * test_jail_signal_guard.c - whom a step may signal, or change, and who is asked
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "jail/serve/rules/signal_judge.h"
#include "jail/walls/seccomp/signal_guard.h"
#include "tests/unit/bpf.h"
#include "tests/unit/suites.h"

static struct sock_filter code[SIGNAL_GUARD_CODE_MAX + BPF_MAXINSNS];
static size_t length;

static struct plan plan;

/* in front of a filter that lets everything through */
static void make(bool session)
{
	plan.session = session;

	const struct sock_filter all = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);

	length = signal_guard_code(&plan, code);
	ck_assert_uint_le(length, SIGNAL_GUARD_CODE_MAX);
	code[length++] = all;
	bpf_check(code, length);
}

static uint32_t ask(uint32_t arch, long nr, uint64_t second)
{
	const struct seccomp_data data = { .nr = (int)nr,
					   .arch = arch,
					   .args = { 5, second } };

	return bpf_run(code, length, &data);
}

static const long told[] = { SYS_kill,
			     SYS_tkill,
			     SYS_tgkill,
			     SYS_rt_sigqueueinfo,
			     SYS_rt_tgsigqueueinfo,
			     SYS_setpriority,
			     SYS_sched_setaffinity };
static const long allowable[] = { SYS_sched_setscheduler, SYS_sched_setparam,
				  SYS_sched_setattr, SYS_ioprio_set };

START_TEST(signals_are_told_of)
{
	make(true);
	for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
		struct seccomp_data data = { .nr = (int)told[i], .arch = NATIVE };

		ck_assert_uint_eq(ask(NATIVE, told[i], 9), TOLD);
		ck_assert(signal_guard_asks(&plan, &data));
		data.arch = 0x1234;
		ck_assert(!signal_guard_asks(&plan, &data));
		/* of other entries the filter behind knows what to make */
		ck_assert_uint_eq(ask(0x1234, told[i], 9), ALLOWED);
	}
	ck_assert_uint_eq(ask(NATIVE, SYS_pidfd_send_signal, 9), REFUSED(EPERM));
	ck_assert(!signal_guard_asks(
		&plan,
		&(struct seccomp_data){ .nr = SYS_pidfd_send_signal, .arch = NATIVE }));
	ck_assert_uint_eq(ask(NATIVE, SYS_timer_create, 9), REFUSED(EPERM));
}
END_TEST

/* what the allow list refuses is nobody's to let through, unless the plan has it */
START_TEST(allowed_calls_are_told_of)
{
	for (size_t i = 0; i < sizeof(allowable) / sizeof(allowable[0]); i++) {
		const struct seccomp_data data = { .nr = (int)allowable[i],
						   .arch = NATIVE };

		plan = (struct plan){ 0 };
		make(true);
		ck_assert_uint_eq(ask(NATIVE, allowable[i], 9), ALLOWED);
		ck_assert(!signal_guard_asks(&plan, &data));
		plan.call[0] = (struct plan_call){ .nr = (int)allowable[i], .arg = -1 };
		plan.call_count = 1;
		make(true);
		ck_assert_uint_eq(ask(NATIVE, allowable[i], 9), TOLD);
		ck_assert(signal_guard_asks(&plan, &data));
	}
	plan = (struct plan){ 0 };
}
END_TEST

START_TEST(fcntl_chooses_no_signal_and_nobody)
{
	static const unsigned int refused[] = { F_SETOWN, F_SETSIG, F_SETOWN_EX,
						F_SETLEASE, F_NOTIFY };

	make(true);
	for (unsigned int i = 0; i < 2048; i++) {
		bool is_refused = false;

		for (size_t k = 0; k < sizeof(refused) / sizeof(refused[0]); k++)
			is_refused = is_refused || refused[k] == i;
		/* the kernel reads the low half */
		ck_assert_uint_eq(ask(NATIVE, SYS_fcntl, i | 1ULL << 32),
				  is_refused ? REFUSED(EPERM) : ALLOWED);
	}
}
END_TEST

START_TEST(a_run_has_none_of_it)
{
	make(false);
	ck_assert_uint_eq(length, 1);
}
END_TEST

START_TEST(other_calls_are_not_touched)
{
	make(true);
	for (int nr = 0; nr < 500; nr++) {
		bool row = nr == SYS_pidfd_send_signal || nr == SYS_timer_create;

		for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++)
			row = row || told[i] == nr;
		if (!row)
			ck_assert_uint_eq(ask(NATIVE, nr, 0), ALLOWED);
	}
}
END_TEST

/* 1 is init; 5 is a state, 6 another step; all three lead groups; 8 is not there */
static int reaches(void *owner, pid_t pid, bool group)
{
	(void)owner;
	if (pid == 8 && !group)
		return -ESRCH;
	return pid == 1 || pid == 5 || pid == 6 ? -EPERM : 0;
}

/* the caller is 9, and its thread 10 */
static bool is_own(void *owner, pid_t pid)
{
	(void)owner;
	return pid == 9 || pid == 10;
}

#define ROW(call, a, b, c, said)                                                         \
	{                                                                                \
		SYS_##call, { (uint64_t)(a), (uint64_t)(b), (uint64_t)(c) }, said        \
	}

static const struct {
	long nr;
	uint64_t args[3];
	int said;
} signals[] = {
	ROW(kill, 7, SIGKILL, 0, 0),
	ROW(kill, 5, SIGKILL, 0, -EPERM),
	ROW(kill, 6, SIGKILL, 0, -EPERM),
	ROW(kill, 1, SIGKILL, 0, -EPERM),
	ROW(kill, 5, SIGCONT, 0, -EPERM),
	/* the kernel takes the low half of a number */
	ROW(kill, 5 | 1ULL << 32, SIGKILL, 0, -EPERM),
	ROW(kill, 7, SIGKILL | 1ULL << 32, 0, 0),
	/* nothing is sent, so nothing is kept from it */
	ROW(kill, 5, 0, 0, 0),
	ROW(kill, -1, 0, 0, 0),
	ROW(kill, 5, 1ULL << 32, 0, 0),
	ROW(tkill, 5, 0, 0, 0),
	/* all, the own group, a group */
	ROW(kill, -1, SIGKILL, 0, -EPERM),
	ROW(kill, 0xffffffff, SIGKILL, 0, -EPERM),
	ROW(kill, 0, SIGTERM, 0, -EPERM),
	ROW(kill, 1ULL << 32, SIGTERM, 0, -EPERM),
	ROW(kill, INT32_MIN, SIGTERM, 0, -EPERM),
	ROW(kill, -5, SIGTERM, 0, -EPERM),
	ROW(kill, -7, SIGTERM, 0, 0),
	/* nobody, and a group whose first process has gone */
	ROW(kill, 8, SIGKILL, 0, -ESRCH),
	ROW(kill, -8, SIGKILL, 0, 0),
	ROW(kill, 8, 0, 0, 0),
	ROW(tkill, 8, SIGKILL, 0, -ESRCH),
	ROW(tgkill, 8, 7, SIGKILL, -ESRCH),
	/* by thread */
	ROW(tkill, 5, SIGKILL, 0, -EPERM),
	ROW(tkill, 7, SIGKILL, 0, 0),
	ROW(tgkill, 5, 5, SIGKILL, -EPERM),
	ROW(tgkill, 7, 5, SIGKILL, -EPERM),
	ROW(tgkill, 5, 7, SIGKILL, -EPERM),
	ROW(tgkill, 7, 10, SIGKILL, 0),
	ROW(tgkill, 5, 5, 0, 0),
	/* with a value */
	ROW(rt_sigqueueinfo, 5, SIGKILL, 0, -EPERM),
	ROW(rt_sigqueueinfo, 7, SIGUSR1, 0, 0),
	ROW(rt_sigqueueinfo, 5, 0, 0, 0),
	ROW(rt_tgsigqueueinfo, 5, 5, SIGUSR1, -EPERM),
	ROW(rt_tgsigqueueinfo, 7, 5, SIGUSR1, -EPERM),
	ROW(rt_tgsigqueueinfo, 7, 10, SIGUSR1, 0),
	/* a process's own alone, and never a group's or a user's; the low half again */
	ROW(setpriority, PRIO_PROCESS, 0, 19, 0),
	ROW(setpriority, PRIO_PROCESS, 9, 19, 0),
	ROW(setpriority, PRIO_PROCESS, 10, 19, 0),
	ROW(setpriority, PRIO_PROCESS, 5, 19, -EPERM),
	ROW(setpriority, PRIO_PROCESS, 7, 19, -EPERM),
	ROW(setpriority, PRIO_PROCESS, 1, 19, -EPERM),
	ROW(setpriority, PRIO_PROCESS, 1ULL << 32 | 5, 19, -EPERM),
	ROW(setpriority, PRIO_PGRP, 0, 19, -EPERM),
	ROW(setpriority, PRIO_USER, 0, 19, -EPERM),
	ROW(setpriority, 1ULL << 32 | PRIO_USER, 0, 19, -EPERM),
	ROW(ioprio_set, 1, 0, 0, 0),
	ROW(ioprio_set, 1, 5, 0, -EPERM),
	ROW(ioprio_set, 2, 0, 0, -EPERM),
	ROW(ioprio_set, 3, 0, 0, -EPERM),
	ROW(sched_setaffinity, 0, 8, 0, 0),
	ROW(sched_setaffinity, 9, 8, 0, 0),
	ROW(sched_setaffinity, 5, 8, 0, -EPERM),
	ROW(sched_setaffinity, 1, 8, 0, -EPERM),
	ROW(sched_setscheduler, 0, 3, 0, 0),
	ROW(sched_setscheduler, 5, 3, 0, -EPERM),
	ROW(sched_setparam, 0, 0, 0, 0),
	ROW(sched_setparam, 5, 0, 0, -EPERM),
	ROW(sched_setattr, 0, 0, 0, 0),
	ROW(sched_setattr, 5, 0, 0, -EPERM),
};
#define SIGNALS (sizeof(signals) / sizeof(signals[0]))

START_TEST(a_signal_goes_on_or_not)
{
	const struct signal_judge judge = { reaches, is_own, NULL };
	const struct seccomp_data call = {
		.nr = (int)signals[_i].nr,
		.arch = NATIVE,
		.args = { signals[_i].args[0], signals[_i].args[1], signals[_i].args[2] },
	};

	ck_assert_msg(signal_judge_call(&judge, &call) == signals[_i].said, "row %d", _i);
}
END_TEST

Suite *jail_signal_guard_suite(void)
{
	Suite *s = suite_create("jail signal guard");
	TCase *c = tcase_create("signal guard");

	tcase_add_test(c, signals_are_told_of);
	tcase_add_test(c, allowed_calls_are_told_of);
	tcase_add_test(c, fcntl_chooses_no_signal_and_nobody);
	tcase_add_test(c, a_run_has_none_of_it);
	tcase_add_test(c, other_calls_are_not_touched);
	tcase_add_loop_test(c, a_signal_goes_on_or_not, 0, SIGNALS);
	suite_add_tcase(s, c);
	return s;
}
