/* SPDX-License-Identifier: MIT */
/*
 * caller.c - a child that makes refused calls: see caller.h
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "init/io.h"
#include "jail/walls/gate.h"
#include "jail/walls/seccomp/seccomp.h"
#include "tests/unit/caller.h"
#include "tests/unit/suites.h"

struct violations caller_heard;
struct plan caller_plan;
pid_t caller_pid;

bool caller_refused(long nr, uint64_t arg0, uint64_t arg1)
{
	return syscall(nr, arg0, arg1, 0UL, 0UL, 0UL) == -1 && errno == EPERM;
}

void caller_start(bool (*act)(void))
{
	struct err e = { 0 };
	struct gate_ready ready = { 0 };
	int outside, inside, netlink, none = -1, r;

	ck_assert_int_eq(gate_make(&outside, &inside, &e), 0);

	struct pollfd there = { .fd = outside, .events = POLLIN };

	caller_pid = fork();
	ck_assert_int_ge(caller_pid, 0);
	if (caller_pid == 0) {
		uint64_t key;
		int listener;

		netlink = dup(outside);
		(void)close(outside);
		(void)prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL);
		if (seccomp_install(&caller_plan, 0, &key, &listener, &e) < 0 ||
		    gate_hand_over(inside, GATE_NETLINK, &netlink, &e) < 0 ||
		    gate_hand_over(inside, GATE_PORT, &none, &e) < 0 ||
		    gate_hand_over(inside, GATE_LOCKS, &none, &e) < 0 ||
		    gate_hand_over(inside, GATE_LISTENER, &listener, &e) < 0 ||
		    gate_wait(inside, 0, &e) < 0)
			_exit(3);
		_exit(act() ? 0 : 1);
	}
	(void)close(inside);
	caller_heard = (struct violations){ .fd = -1 };
	while ((r = gate_receive(outside, &ready, &e)) == -EAGAIN)
		ck_assert_int_eq(poll(&there, 1, 20000), 1);
	ck_assert_int_eq(r, 1);
	caller_heard.fd = io_steal_fd(&ready.fd[GATE_LISTENER]);
	gate_close(&ready);
	ck_assert_int_eq(ready.program, caller_pid);
	ck_assert_int_ge(caller_heard.fd, 0);
	ck_assert_int_eq(gate_open(&outside), 0);
}

bool caller_waits(void)
{
	struct pollfd p = { .fd = caller_heard.fd, .events = POLLIN };

	ck_assert_int_eq(poll(&p, 1, 20000), 1);
	return p.revents & POLLIN;
}

bool caller_serve_all(void)
{
	uint64_t now_ms = 1000;

	for (; caller_heard.fd >= 0; now_ms += 1000) {
		(void)caller_waits();
		ck_assert_uint_eq(violation_wait_ms(&caller_heard, now_ms), 0);
		ck_assert_int_eq(violation_serve(&caller_heard, &caller_plan, now_ms), 0);
	}
	return violation_name(&caller_heard) != NULL;
}

void caller_ends_with(int want)
{
	int status;

	ck_assert_int_eq(waitpid(caller_pid, &status, 0), caller_pid);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == want, "%#x",
		      (unsigned int)status);
}
