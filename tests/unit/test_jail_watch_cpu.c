/* SPDX-License-Identifier: MIT */
/*
 * test_jail_watch_cpu.c - CPU time that the watch charges, and exact counts that it takes
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "jail/plan/plan.h"
#include "jail/watch/proc_usage.h"
#include "tests/unit/suites.h"
#include "tests/unit/watched.h"

#define LOOKS 300

/* four processes on the same 32 MiB: four times it by the quick sum, once by the exact
 * one */
START_TEST(pages_of_a_fork_are_counted_once)
{
	struct proc_usage quick, exact;

	if (!watched_can())
		return;
	watched_touch(32 * MIB, MAP_PRIVATE);
	for (int i = 0; i < 3; i++)
		watched_start(watched_idle);
	watched_sample(NO_LIMIT, &quick);
	watched_sample(64 * MIB, &exact);
	ck_assert_uint_ge(quick.memory_bytes, 128 * MIB);
	ck_assert_uint_ge(exact.memory_bytes, 32 * MIB);
	ck_assert_uint_lt(exact.memory_bytes, quick.memory_bytes - 64 * MIB);
	ck_assert_uint_eq(exact.processes, 3);
}
END_TEST

static uint64_t own_cpu_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* however often it is looked at: an exact count of all of them is made now and then */
START_TEST(exact_counts_take_little_of_the_time)
{
	struct proc_usage w;
	uint64_t begin, one_us;

	if (!watched_can())
		return;
	watched_touch(64 * MIB, MAP_PRIVATE);
	for (int i = 0; i < CHILDREN_MAX; i++)
		watched_start(watched_idle);
	begin = own_cpu_us();
	watched_sample(256 * MIB, &w);
	one_us = own_cpu_us() - begin;
	begin = own_cpu_us();
	for (int i = 0; i < LOOKS; i++) {
		watched_sample_again(256 * MIB, &w);
		ck_assert_uint_ge(w.memory_bytes, 64 * MIB);
		ck_assert_uint_le(w.memory_bytes, 256 * MIB);
	}
	ck_assert_uint_lt(own_cpu_us() - begin, LOOKS * one_us / 2);
}
END_TEST

static char *taken; /* before a fork */

static void take_own(void)
{
	memset(taken, 2, 32 * MIB);
}

/* The pages of a fork become several processes' own, and no sum but the exact one grows.
 * What the test's own process had before, much under ASan, is shared and counts once. */
START_TEST(an_exact_count_is_made_again)
{
	struct proc_usage w = { 0 }, own;
	uint64_t limit, shared;

	if (!watched_can())
		return;
	watched_sample(NO_LIMIT, &own);
	limit = own.memory_bytes + 100 * MIB;
	taken = watched_touch(32 * MIB, MAP_PRIVATE);
	for (int i = 0; i < 3; i++)
		watched_start(watched_idle);
	watched_sample_again(limit, &w);
	shared = w.memory_bytes;
	ck_assert_uint_lt(shared, own.memory_bytes + 64 * MIB);
	for (int i = 0; i < 3; i++)
		watched_start(take_own);
	for (int i = 0; i < TRIES && w.memory_bytes < shared + 90 * MIB; i++) {
		(void)usleep(20000);
		watched_sample_again(limit, &w);
	}
	ck_assert_uint_ge(w.memory_bytes, shared + 90 * MIB);
	/* and it does not stand when they have ended */
	watched_end();
	for (int i = 0; i < 3; i++)
		watched_start(watched_idle);
	for (int i = 0; i < TRIES && w.memory_bytes >= shared + 32 * MIB; i++) {
		(void)usleep(20000);
		watched_sample_again(limit, &w);
	}
	ck_assert_uint_lt(w.memory_bytes, shared + 32 * MIB);
}
END_TEST

static void burn(void)
{
	struct timespec t;

	do
		(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	while (t.tv_sec == 0 && t.tv_nsec < 200000000);
}

static void burn_in_a_child(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		burn();
		_exit(0);
	}
	(void)waitpid(pid, NULL, 0);
}

/* its name, with a bracket and blanks, stands in the middle of /proc/PID/stat */
static void burn_with_a_name(void)
{
	(void)prctl(PR_SET_NAME, ") R 1 2 (3)");
	burn();
}

static void ck_burnt(void (*act)(void))
{
	struct proc_usage before, after;

	if (!watched_can())
		return;
	watched_sample(NO_LIMIT, &before);
	watched_start(act);
	watched_sample(NO_LIMIT, &after);
	/* the kernel counts in ticks of 10 ms */
	ck_assert_uint_ge(after.cpu_us, before.cpu_us + 150000);
	ck_assert_uint_le(after.cpu_us, before.cpu_us + 2000000);
}

START_TEST(cpu_time_is_counted)
{
	ck_burnt(burn);
}
END_TEST

START_TEST(cpu_time_of_ended_children_is_counted)
{
	ck_burnt(burn_in_a_child);
}
END_TEST

START_TEST(names_do_not_confuse)
{
	ck_burnt(burn_with_a_name);
}
END_TEST

/* its only child */
static void kill_below(pid_t pid)
{
	char path[64];
	FILE *list;
	int child = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	list = fopen(path, "re");
	ck_assert_ptr_nonnull(list);
	ck_assert_int_eq(fscanf(list, "%d", &child), 1);
	(void)fclose(list);
	ck_assert_int_eq(kill(child, SIGKILL), 0);
}

/* its child burns, and ends when it is told to, by the end of a pipe; nobody waits for
 * it */
static void burn_in_a_child_that_is_lost(void)
{
	int ends[2];
	char byte;

	(void)signal(SIGCHLD, SIG_IGN);
	if (pipe(ends) == 0 && fork() == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		burn();
		(void)!write(ends[1], "x", 1);
		for (;;)
			(void)pause();
	}
	(void)!read(ends[0], &byte, 1);
}

START_TEST(cpu_time_that_nobody_waits_for_stays)
{
	struct proc_usage w, found;
	uint64_t before_us;

	if (!watched_can())
		return;
	watched_start(burn_in_a_child_that_is_lost);
	watched_sample(NO_LIMIT, &w);
	ck_assert_uint_eq(w.processes, 2);
	before_us = w.cpu_us;
	ck_assert_uint_ge(before_us, 150000);
	kill_below(watched_children[0]);
	for (int i = 0; i < TRIES && w.processes > 1; i++) {
		(void)usleep(20000);
		watched_sample_again(NO_LIMIT, &w);
	}
	ck_assert_uint_eq(w.processes, 1);
	ck_assert_uint_ge(w.cpu_us, before_us);
	/* and what is found now is less */
	watched_sample(NO_LIMIT, &found);
	ck_assert_uint_lt(found.cpu_us + 100000, before_us);
}
END_TEST

static void have_short_children(void)
{
	if (fork() == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;) {
			pid_t pid = fork();

			if (pid == 0) {
				for (volatile int i = 0; i < 3000000; i++)
					;
				_exit(0);
			}
			(void)waitpid(pid, NULL, 0);
		}
	}
}

/* those that are waited for are found in their parents' time, and are not lost as well */
START_TEST(what_is_waited_for_is_counted_once)
{
	struct proc_usage w = { 0 };

	if (!watched_can())
		return;
	watched_start(have_short_children);
	while (w.cpu_us < 1500000)
		watched_sample_again(NO_LIMIT, &w);
	ck_assert_uint_lt(w.lost_us, w.cpu_us / 10);
}
END_TEST

Suite *jail_watch_cpu_suite(void)
{
	Suite *s = suite_create("jail watch cpu");
	TCase *c = tcase_create("watch cpu");

	tcase_set_timeout(c, 120);
	tcase_add_checked_fixture(c, watched_adopt, watched_end);
	tcase_add_test(c, pages_of_a_fork_are_counted_once);
	tcase_add_test(c, exact_counts_take_little_of_the_time);
	tcase_add_test(c, an_exact_count_is_made_again);
	tcase_add_test(c, cpu_time_is_counted);
	tcase_add_test(c, cpu_time_of_ended_children_is_counted);
	tcase_add_test(c, names_do_not_confuse);
	tcase_add_test(c, cpu_time_that_nobody_waits_for_stays);
	tcase_add_test(c, what_is_waited_for_is_counted_once);
	suite_add_tcase(s, c);
	return s;
}
