/* SPDX-License-Identifier: MIT */
/*
 * test_jail_violation.c - what the launcher hears of refused calls, and answers
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "init/io.h"
#include "jail/plan/call.h"
#include "tests/unit/caller.h"
#include "tests/unit/suites.h"

#define BURST 200  /* as jail/watch/violation.h has it */
#define PER_S 1000 /* the same */

static const struct violation *find(const char *name, const char *label)
{
	for (unsigned int i = 0; i < caller_heard.kinds; i++) {
		const char *own = call_name(&caller_heard.kind[i].first);

		if (own && strcmp(own, name) == 0 &&
		    strcmp(caller_heard.kind[i].label, label) == 0)
			return &caller_heard.kind[i];
	}
	ck_abort_msg("no %s (%s)", name, label);
	return NULL;
}

static bool make_some(void)
{
	bool all = true;

	for (int i = 0; i < 3; i++)
		all &= caller_refused(SYS_ptrace, 0, 0x1234567890abcdef);
	for (uint64_t i = 0; i < 2; i++) {
		all &= caller_refused(SYS_ioctl, i, TIOCSTI | i << 32);
		all &= caller_refused(SYS_clone,
				      CLONE_NEWUSER | CLONE_NEWNET | SIGCHLD | i, 0);
	}
	all &= caller_refused(SYS_ioctl, 1, TIOCLINUX);
	all &= caller_refused(SYS_personality, READ_IMPLIES_EXEC | ADDR_NO_RANDOMIZE, 0);
	all &= caller_refused(SYS_personality, 1, 0) &&
	       caller_refused(SYS_personality, 2, 0);
	all &= caller_refused(SYS_socket, AF_VSOCK, SOCK_STREAM);
	/* refused, but nobody is told */
	return all && caller_refused(SYS_msgget, 0, 0);
}

START_TEST(calls_are_kept_by_kind)
{
	const struct violation *k;

	caller_plan = (struct plan){ 0 };
	caller_start(make_some);
	ck_assert(caller_serve_all());
	caller_ends_with(0);
	ck_assert_uint_eq(caller_heard.total, 12);
	ck_assert_uint_eq(caller_heard.beyond, 0);
	ck_assert_uint_eq(caller_heard.kinds, 8);
	k = find("ptrace", "");
	ck_assert_uint_eq(k->count, 3);
	ck_assert_int_eq(k->pid, caller_pid);
	ck_assert_uint_eq(k->first.args[1], 0x1234567890abcdef);
	ck_assert_uint_eq(k->first_ms, 1000);
	ck_assert(k->violation && k->last_ms >= k->first_ms);
	ck_assert_uint_eq(find("ioctl", "TIOCSTI")->count, 2);
	ck_assert_uint_eq(find("ioctl", "TIOCLINUX")->count, 1);
	ck_assert_uint_eq(find("clone", "CLONE_NEWUSER|CLONE_NEWNET")->count, 2);
	ck_assert_uint_eq(find("socket", "AF_VSOCK")->count, 1);
	k = find("personality", "ADDR_NO_RANDOMIZE|READ_IMPLIES_EXEC");
	ck_assert_uint_eq(k->count, 1);
	/* by their value, where it has no name */
	ck_assert_uint_eq(find("personality", "")->count, 1);
	ck_assert_str_eq(violation_name(&caller_heard), "ptrace");
}
END_TEST

static bool make_many(void)
{
	bool all = true;

	for (uint64_t i = 0; i < 40; i++)
		all &= caller_refused(SYS_ioctl, 0, 0xabcd0000 | i);
	/* of the first kind once more, and of one that found no room */
	return all && caller_refused(SYS_ioctl, 1, 0xabcd0000) &&
	       caller_refused(SYS_ioctl, 1, 0xabcd0000 | 39) &&
	       caller_refused(SYS_msgget, 0, 0);
}

START_TEST(kinds_have_a_limit_and_counts_have_none)
{
	caller_plan = (struct plan){ .learn = ANSWER_YES };
	caller_start(make_many);
	ck_assert(!caller_serve_all());
	caller_ends_with(0);
	ck_assert_uint_eq(caller_heard.total, 43);
	ck_assert_uint_eq(caller_heard.kinds, VIOLATION_KINDS_MAX);
	ck_assert_uint_eq(caller_heard.beyond, 43 - VIOLATION_KINDS_MAX - 1);
	ck_assert_uint_eq(caller_heard.kind[0].count, 2);
	/* refused, and no violation */
	ck_assert_ptr_null(violation_name(&caller_heard));
	for (unsigned int i = 0; i < caller_heard.kinds; i++)
		ck_assert(!caller_heard.kind[i].violation);
}
END_TEST

static bool make_flood(void)
{
	for (int i = 0; i < 600; i++)
		if (!caller_refused(SYS_ptrace, 0, 0))
			return false;
	return true;
}

/* what waits at one moment of the clock, until the budget says wait */
static uint64_t answered_at(uint64_t now_ms)
{
	uint64_t before = caller_heard.total;

	while (caller_heard.fd >= 0 && violation_wait_ms(&caller_heard, now_ms) == 0) {
		uint64_t was = caller_heard.total;

		(void)caller_waits();
		(void)violation_serve(&caller_heard, &caller_plan, now_ms);
		/* at most a few in one go */
		ck_assert_uint_le(caller_heard.total - was, 8);
	}
	return caller_heard.total - before;
}

START_TEST(a_flood_waits_for_its_answers)
{
	caller_plan = (struct plan){ 0 };
	caller_start(make_flood);
	ck_assert_uint_eq(answered_at(5), BURST);
	ck_assert_uint_gt(violation_wait_ms(&caller_heard, 5), 0);
	ck_assert(!violation_serve(&caller_heard, &caller_plan, 5));
	ck_assert_uint_eq(caller_heard.total, BURST);
	/* from then on by the clock */
	ck_assert_uint_eq(answered_at(6), PER_S / 1000);
	ck_assert_uint_eq(answered_at(6), 0);
	ck_assert_uint_eq(answered_at(26), 20 * PER_S / 1000);
	/* what an answer has cost beyond that is paid first */
	caller_heard.debt = 10 * PER_S / 1000;
	ck_assert_uint_eq(answered_at(36), 0);
	ck_assert_uint_eq(answered_at(41), 5 * PER_S / 1000);
	/* never more than a burst, however long it was quiet */
	ck_assert_uint_eq(answered_at(100000), BURST);
	/* a clock that begins anew neither stops nor frees it */
	ck_assert_uint_le(answered_at(0), BURST);
	for (uint64_t now_ms = 1; caller_heard.fd >= 0; now_ms++)
		ck_assert_uint_le(answered_at(now_ms), BURST);
	caller_ends_with(0);
	ck_assert_uint_eq(caller_heard.total, 600);
	ck_assert_uint_eq(caller_heard.kind[0].count, 600);
}
END_TEST

/* A listener that cannot be served leaves calls unanswered for ever: it must be told of.
 * A pipe stands for it. */
START_TEST(a_broken_listener_is_told_of)
{
	int ends[2];

	caller_plan = (struct plan){ 0 };
	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_eq(write(ends[1], "x", 1), 1);
	caller_heard = (struct violations){ .fd = ends[0] };
	ck_assert_uint_eq(violation_wait_ms(&caller_heard, 1), 0);
	ck_assert_int_eq(violation_serve(&caller_heard, &caller_plan, 1), -ENOTTY);
	ck_assert_uint_eq(caller_heard.total, 0);
	(void)close(ends[0]);
	(void)close(ends[1]);
}
END_TEST

/* When the last process is gone, between two looks: a session's loop has the fd in its
 * set, and must take it out before it is closed. A pipe without a writer stands for it.
 */
START_TEST(a_listener_at_its_end_is_closed_by_whoever_listens)
{
	struct notify_policy policy = { 0 };
	int ends[2];

	caller_plan = (struct plan){ 0 };
	ck_assert_int_eq(pipe(ends), 0);
	(void)close(ends[1]);
	caller_heard = (struct violations){ .fd = ends[0], .policy = &policy };
	ck_assert_uint_eq(violation_wait_ms(&caller_heard, 1), 0);
	ck_assert_int_eq(violation_serve(&caller_heard, &caller_plan, 1), 0);
	ck_assert_int_eq(caller_heard.fd, ends[0]);
	ck_assert_int_ge(fcntl(ends[0], F_GETFD), 0);
	caller_heard.policy = NULL;
	ck_assert_int_eq(violation_serve(&caller_heard, &caller_plan, 1), 0);
	ck_assert_int_eq(caller_heard.fd, -1);
	ck_assert_int_lt(fcntl(ends[0], F_GETFD), 0);
}
END_TEST

static bool make_one(void)
{
	(void)caller_refused(SYS_ptrace, 0, 0);
	_exit(9); /* it came back */
}

START_TEST(a_deadly_violation_has_no_answer)
{
	int status;

	caller_plan = (struct plan){ .on_violation = VIOLATION_KILL };
	caller_start(make_one);
	ck_assert(caller_waits());
	ck_assert_uint_eq(violation_wait_ms(&caller_heard, 1), 0);
	ck_assert(violation_serve(&caller_heard, &caller_plan, 1));
	ck_assert_uint_eq(caller_heard.total, 1);
	/* it is held: nothing of it runs until it is killed. Were it answered, it would
	 * end at once; it is not, and never does */
	struct pollfd end = { .fd = (int)syscall(SYS_pidfd_open, caller_pid, 0),
			      .events = POLLIN };

	ck_assert_int_ge(end.fd, 0);
	ck_assert_int_eq(poll(&end, 1, 300), 0);
	(void)close(end.fd);
	ck_assert_int_eq(kill(caller_pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(caller_pid, &status, 0), caller_pid);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	io_close_fd(&caller_heard.fd);
}
END_TEST

static bool make_harmless(void)
{
	return caller_refused(SYS_msgget, 0, 0);
}

/* while it learns, not all that is told of is a violation */
START_TEST(what_is_only_learned_kills_nobody)
{
	caller_plan =
		(struct plan){ .on_violation = VIOLATION_KILL, .learn = ANSWER_YES };
	caller_start(make_harmless);
	ck_assert(!caller_serve_all());
	caller_ends_with(0);
	ck_assert_uint_eq(caller_heard.total, 1);
}
END_TEST

static void ignore(int signal)
{
	(void)signal;
}

static bool make_interrupted(void)
{
	struct itimerval often = { { 0, 500 }, { 0, 500 } };
	struct sigaction act = { .sa_handler = ignore, .sa_flags = SA_RESTART };

	(void)sigaction(SIGALRM, &act, NULL);
	(void)setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < 50; i++)
		if (!caller_refused(SYS_ptrace, 0, 0))
			return false;
	return true;
}

/* a signal while the answer is on its way must not make one call two */
START_TEST(an_interrupted_call_counts_once)
{
	caller_plan = (struct plan){ 0 };
	caller_start(make_interrupted);
	while (caller_heard.fd >= 0) {
		union {
			struct seccomp_notif notif;
			char room[1024];
		} n = { 0 };

		if (!caller_waits())
			break;
		if (ioctl(caller_heard.fd, SECCOMP_IOCTL_NOTIF_RECV, &n) < 0)
			continue;
		/* several signals long */
		(void)usleep(3000);

		struct seccomp_notif_resp a = { .id = n.notif.id, .error = -EPERM };

		ck_assert_int_eq(ioctl(caller_heard.fd, SECCOMP_IOCTL_NOTIF_SEND, &a), 0);
		caller_heard.total++;
	}
	caller_ends_with(0);
	ck_assert_uint_eq(caller_heard.total, 50);
	io_close_fd(&caller_heard.fd);
}
END_TEST

Suite *jail_violation_suite(void)
{
	Suite *s = suite_create("jail violation");
	TCase *c = tcase_create("violation");

	tcase_set_timeout(c, 60);
	tcase_add_test(c, calls_are_kept_by_kind);
	tcase_add_test(c, kinds_have_a_limit_and_counts_have_none);
	tcase_add_test(c, a_flood_waits_for_its_answers);
	tcase_add_test(c, a_broken_listener_is_told_of);
	tcase_add_test(c, a_listener_at_its_end_is_closed_by_whoever_listens);
	tcase_add_test(c, a_deadly_violation_has_no_answer);
	tcase_add_test(c, what_is_only_learned_kills_nobody);
	tcase_add_test(c, an_interrupted_call_counts_once);
	suite_add_tcase(s, c);
	return s;
}
