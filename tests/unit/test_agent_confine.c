/* SPDX-License-Identifier: MIT */
/*
 * test_agent_confine.c - what a confined agent cannot do any more
 *
 * Each attempt is made twice, in a process of its own: as it is, where it must succeed or
 * at least come to another end, and behind confine_self(). Landlock is tried by the
 * rights of each older ABI as well, and walls that lie about themselves must be found
 * out.
 */
#include <errno.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/confine/confine.h"
#include "tests/unit/suites.h"
#include "tests/unit/test_agent_attempts.h"

static struct confine_policy policy_of(unsigned int needs)
{
	struct confine_policy p = { .needs = needs, .read_host = (needs & HOST) == HOST };
	struct err e;

	(void)confine_add_path(&p, place.folder,
			       needs & (CONFINE_CREATE | CONFINE_COLLECT | CONFINE_KEEP),
			       &e);
	(void)confine_add_path(&p, place.other, 0, &e);
	(void)confine_add_path(&p, "/no/such/file", 0, &e);
	(void)confine_add_port(&p, place.ports[0], &e);
	return p;
}

static int outcome_of(pid_t pid)
{
	int status;

	ck_assert_int_ge(pid, 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int landlock_abi(void)
{
	struct err e;
	int abi = confine_landlock_abi(&e);

	return abi > 0 ? abi : 0;
}

static int outcome(void (*act)(void), const struct confine_policy *p)
{
	pid_t pid = fork();

	if (pid == 0) {
		struct confine_facts facts;
		struct err e;

		/* of ASan's own, where it is there */
		(void)signal(SIGSEGV, SIG_DFL);
		if (p && confine_self(p, &facts, &e) < 0) {
			(void)dprintf(2, "%s\n", e.text);
			_exit(255);
		}
		act();
	}
	return outcome_of(pid);
}

START_TEST(attempt_fails_confined_alone)
{
	const struct confine_policy p = policy_of(attempts[_i].needs);
	const char *name = attempts[_i].name;
	int by = attempts[_i].by, without;

	if ((by == LANDLOCK || by == PORTS) && landlock_abi() < by) {
		unit_skip("confine: %s: Landlock of ABI %d is missing", name, by);
		return;
	}

	/* a kernel without 32-bit emulation has no gate for int 0x80: a general
	 * protection fault */
	if (by == OTHER && outcome(attempts[_i].act, NULL) == FAULTS) {
		unit_skip("confine: %s: an entry of this kernel's is missing", name);
		return;
	}

	int with = outcome(attempts[_i].act, &p);

	ck_assert_msg(with == attempts[_i].outcome, "%s confined: %d, not %d", name, with,
		      attempts[_i].outcome);
	(void)remove(place.fresh);
	without = outcome(attempts[_i].act, NULL);
	ck_assert_msg(by == OTHER ? without != with : without == 0, "%s as it is: %d",
		      name, without);
}
END_TEST

/* @i in confine_files() alone, by the rights of an older kernel */
START_TEST(older_landlock_refuses_what_it_knows)
{
	const struct confine_policy p = policy_of(EVERY);

	if (landlock_abi() < _i) {
		unit_skip("confine: Landlock of ABI %d is missing", _i);
		return;
	}
	for (size_t i = 0; i < attempt_count; i++) {
		int by = attempts[i].by, got;
		pid_t pid;

		if (by != LANDLOCK && by != PORTS)
			continue;
		pid = fork();
		if (pid == 0) {
			struct err e;

			(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
			if (confine_files(&p, _i, &e) < 0)
				_exit(255);
			attempts[i].act();
		}
		got = outcome_of(pid);
		(void)remove(place.elsewhere);
		ck_assert_msg(got == (_i >= by ? EACCES : 0), "%s with ABI %d: %d",
			      attempts[i].name, _i, got);
	}
}
END_TEST

/* the rows of every need: a name that is no system call's is an error */
START_TEST(call_names_are_real)
{
	pid_t pid = fork();

	if (pid == 0) {
		struct err e;

		(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		_exit(-confine_calls(~0U, &e));
	}
	ck_assert_int_eq(outcome_of(pid), 0);
}
END_TEST

Suite *agent_confine_suite(void)
{
	Suite *s = suite_create("agent/confine");
	TCase *c = tcase_create("all");

	tcase_add_checked_fixture(c, place_make, NULL);
	tcase_add_loop_test(c, attempt_fails_confined_alone, 0, (int)attempt_count);
	tcase_add_loop_test(c, older_landlock_refuses_what_it_knows, 1, 7);
	tcase_add_test(c, call_names_are_real);
	suite_add_tcase(s, c);
	return s;
}
