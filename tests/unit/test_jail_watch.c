/* SPDX-License-Identifier: MIT */
/*
 * test_jail_watch.c - what a tree of processes uses, sampled from /proc
 *
 * The test's own process plays init, children of its the program.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "jail/plan.h"
#include "jail/watch.h"
#include "tests/unit/suites.h"

#define MIB (1ULL << 20)
#define CHILDREN_MAX 8
#define TRIES 1500 /* 20 ms apart: only what never comes to be takes so long */

static pid_t children[CHILDREN_MAX];
static unsigned int child_count;

static bool can_watch(void)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	if (access(path, R_OK) == 0)
		return true;
	unit_skip("watch: this kernel has no /proc/PID/task/TID/children");
	return false;
}

/* pages that are really there, and that no other process shares */
static char *touch(size_t bytes, int flags)
{
	char *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		_exit(1);
	memset(memory, 1, bytes);
	return memory;
}

/* a child that runs @act, says so, and then sleeps until it is killed */
static void start(void (*act)(void))
{
	int ends[2];
	char byte;

	ck_assert_uint_lt(child_count, CHILDREN_MAX);
	ck_assert_int_eq(pipe(ends), 0);

	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		act();
		(void)!write(ends[1], "x", 1);
		for (;;)
			(void)pause();
	}
	children[child_count++] = pid;
	(void)close(ends[1]);
	ck_assert_int_eq(read(ends[0], &byte, 1), 1);
	(void)close(ends[0]);
}

/* orphans become children of the test, as they do of init */
static void adopt(void)
{
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL);
}

/* their own children end with them */
static void end_children(void)
{
	while (child_count > 0)
		(void)kill(children[--child_count], SIGKILL);
	while (wait(NULL) > 0)
		;
}

static void sample_again(uint64_t limit_bytes, struct watch *w)
{
	struct err e = { 0 };

	ck_assert_msg(watch_sample(getpid(), limit_bytes, w, &e) == 0, "%s", e.text);
}

static void sample(uint64_t limit_bytes, struct watch *w)
{
	*w = (struct watch){ 0 };
	sample_again(limit_bytes, w);
}

static char *taken; /* before a fork */

static void take_own(void)
{
	memset(taken, 2, 32 * MIB);
}

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

static bool is_zombie(pid_t pid)
{
	char path[32], text[4096] = "";
	FILE *status;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", pid);
	status = fopen(path, "re");
	ck_assert_ptr_nonnull(status);
	(void)!fread(text, 1, sizeof(text) - 1, status);
	(void)fclose(status);
	return strstr(text, "State:\tZ") != NULL;
}

static void idle(void)
{
}

static void take_32(void)
{
	touch(32 * MIB, MAP_PRIVATE);
}

static void take_32_shared(void)
{
	touch(32 * MIB, MAP_SHARED);
}

START_TEST(nobody_is_nobody)
{
	struct watch w;

	if (!can_watch())
		return;
	sample(NO_LIMIT, &w);
	ck_assert_uint_eq(w.processes, 0);
	ck_assert_uint_gt(w.memory_bytes, 0);
	/* one that has ended, or never was, is no error */
	w = (struct watch){ 0 };
	ck_assert_int_eq(watch_sample(0x3fffffff, NO_LIMIT, &w, &(struct err){ 0 }), 0);
	ck_assert_uint_eq(w.memory_bytes, 0);
	ck_assert_uint_eq(w.processes, 0);
}
END_TEST

/* in a child, as a limit of open files is not taken back: the watch finds none left */
static void sample_without_fds(void *arg)
{
	struct rlimit none = { 0, 0 };
	struct watch w = { 0 };
	struct err e = { 0 };

	(void)arg;
	MUST(setrlimit(RLIMIT_NOFILE, &none) == 0);
	MUST(watch_sample(getpid(), NO_LIMIT, &w, &e) == -EMFILE);
	MUST(e.errnum == EMFILE && strstr(e.text, "watch: "));
}

START_TEST(what_cannot_be_read_is_not_nothing)
{
	if (can_watch())
		unit_child(sample_without_fds, NULL);
}
END_TEST

/* the number of fds that are left is enough for the first files of a process, not for all */
static void sample_with_few_fds(void *arg)
{
	struct watch w = { 0 };
	struct err e = { 0 };
	int spare = *(int *)arg, fd = open("/dev/null", O_RDONLY);
	struct rlimit few = { (rlim_t)(fd + spare), (rlim_t)(fd + spare) };

	(void)close(fd);
	MUST(fd >= 0 && setrlimit(RLIMIT_NOFILE, &few) == 0);
	/* all of it, or an error: never less */
	if (watch_sample(getpid(), NO_LIMIT, &w, &e) == 0)
		MUST(w.memory_bytes >= 32 * MIB);
	else
		MUST(e.errnum == EMFILE);
}

START_TEST(it_is_all_or_an_error)
{
	if (!can_watch())
		return;
	touch(32 * MIB, MAP_PRIVATE);
	unit_child(sample_with_few_fds, &_i);
}
END_TEST

static void *take_in_thread(void *arg)
{
	touch(32 * MIB, MAP_PRIVATE);
	(void)!write(*(int *)arg, "x", 1);
	for (;;)
		(void)pause();
	return arg;
}

/* the process's own files in /proc show no memory when its first thread has ended */
START_TEST(memory_of_other_threads_is_counted)
{
	struct watch w;
	pthread_t thread;
	int ends[2];
	char byte;

	if (!can_watch())
		return;
	ck_assert_int_eq(pipe(ends), 0);

	pid_t pid = fork();

	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)pthread_create(&thread, NULL, take_in_thread, &ends[1]);
		syscall(SYS_exit, 0); /* this thread alone */
	}
	children[child_count++] = pid;
	(void)close(ends[1]);
	ck_assert_int_eq(read(ends[0], &byte, 1), 1);
	(void)close(ends[0]);
	for (int i = 0; i < TRIES; i++) {
		sample(NO_LIMIT, &w);
		ck_assert_uint_ge(w.memory_bytes, 32 * MIB);
		sample(0, &w);
		ck_assert_uint_ge(w.memory_bytes, 32 * MIB);
		if (is_zombie(pid))
			break;
		(void)usleep(20000);
	}
	ck_assert(is_zombie(pid));
	sample(NO_LIMIT, &w);
	ck_assert_uint_ge(w.memory_bytes, 32 * MIB);
	sample(0, &w);
	ck_assert_uint_ge(w.memory_bytes, 32 * MIB);
}
END_TEST

static void ck_grows(void (*act)(void))
{
	struct watch before, after, gone;

	if (!can_watch())
		return;
	start(idle);
	sample(NO_LIMIT, &before);
	ck_assert_uint_eq(before.processes, 1);
	start(act);
	sample(NO_LIMIT, &after);
	ck_assert_uint_eq(after.processes, 2);
	ck_assert_uint_ge(after.memory_bytes, before.memory_bytes + 32 * MIB);
	end_children();
	sample(NO_LIMIT, &gone);
	ck_assert_uint_eq(gone.processes, 0);
	ck_assert_uint_lt(gone.memory_bytes, after.memory_bytes - 32 * MIB);
}

START_TEST(private_memory_is_counted)
{
	ck_grows(take_32);
}
END_TEST

START_TEST(shared_memory_is_counted)
{
	ck_grows(take_32_shared);
}
END_TEST

static void have_grandchildren(void)
{
	for (int i = 0; i < 3; i++) {
		if (fork() != 0)
			continue;
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (i == 0 && fork() == 0)
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			(void)pause();
	}
}

START_TEST(every_generation_is_counted)
{
	struct watch w = { 0 };

	if (!can_watch())
		return;
	start(have_grandchildren);
	for (int i = 0; i < TRIES && w.processes != 5; i++) {
		(void)usleep(20000);
		sample(NO_LIMIT, &w);
	}
	ck_assert_uint_eq(w.processes, 5);
}
END_TEST

#if defined(__SANITIZE_ADDRESS__) || defined(__has_feature)
#define MANY 300 /* a fork takes much longer there */
#else
#define MANY 3000 /* their list is longer than any buffer for it */
#endif

static unsigned int *made; /* shared with the child that makes them */

static void have_many(void)
{
	for (*made = 0; *made < MANY; (*made)++) {
		pid_t pid = fork();

		if (pid < 0)
			return;
		if (pid > 0)
			continue;
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			(void)pause();
	}
}

START_TEST(none_of_many_is_lost)
{
	struct watch w = { 0 };

	if (!can_watch())
		return;
	made = mmap(NULL, sizeof(*made), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert(made != MAP_FAILED);
	start(have_many);
	sample(NO_LIMIT, &w);
	ck_assert_uint_eq(w.processes, 1 + *made);
	if (*made < MANY)
		unit_skip("watch: only %u of %u processes could be made", *made, MANY);
}
END_TEST

static void *fork_in_thread(void *arg)
{
	if (fork() == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			(void)pause();
	}
	for (;;)
		(void)pause();
	return arg;
}

static void have_a_child_in_a_thread(void)
{
	pthread_t thread;

	(void)pthread_create(&thread, NULL, fork_in_thread, NULL);
}

/* a child belongs to the thread that made it, in the kernel's files */
START_TEST(children_of_threads_are_counted)
{
	struct watch w = { 0 };

	if (!can_watch())
		return;
	start(have_a_child_in_a_thread);
	for (int i = 0; i < TRIES && w.processes != 2; i++) {
		(void)usleep(20000);
		sample(NO_LIMIT, &w);
	}
	ck_assert_uint_eq(w.processes, 2);
}
END_TEST

/* four processes on the same 32 MiB: four times it by the quick sum, once by the exact
 * one */
START_TEST(pages_of_a_fork_are_counted_once)
{
	struct watch quick, exact;

	if (!can_watch())
		return;
	touch(32 * MIB, MAP_PRIVATE);
	for (int i = 0; i < 3; i++)
		start(idle);
	sample(NO_LIMIT, &quick);
	sample(64 * MIB, &exact);
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

#define LOOKS 300

/* however often it is looked at: an exact count of all of them is made now and then */
START_TEST(exact_counts_take_little_of_the_time)
{
	struct watch w;
	uint64_t begin, one_us;

	if (!can_watch())
		return;
	touch(64 * MIB, MAP_PRIVATE);
	for (int i = 0; i < CHILDREN_MAX; i++)
		start(idle);
	begin = own_cpu_us();
	sample(256 * MIB, &w);
	one_us = own_cpu_us() - begin;
	begin = own_cpu_us();
	for (int i = 0; i < LOOKS; i++) {
		sample_again(256 * MIB, &w);
		ck_assert_uint_ge(w.memory_bytes, 64 * MIB);
		ck_assert_uint_le(w.memory_bytes, 256 * MIB);
	}
	ck_assert_uint_lt(own_cpu_us() - begin, LOOKS * one_us / 2);
}
END_TEST

/* the pages of a fork become several processes' own, and no sum but the exact one grows */
START_TEST(an_exact_count_is_made_again)
{
	struct watch w = { 0 };

	if (!can_watch())
		return;
	taken = touch(32 * MIB, MAP_PRIVATE);
	for (int i = 0; i < 3; i++)
		start(idle);
	sample_again(100 * MIB, &w);
	ck_assert_uint_lt(w.memory_bytes, 64 * MIB);
	for (int i = 0; i < 3; i++)
		start(take_own);
	for (int i = 0; i < TRIES && w.memory_bytes < 128 * MIB; i++) {
		(void)usleep(20000);
		sample_again(100 * MIB, &w);
	}
	ck_assert_uint_ge(w.memory_bytes, 128 * MIB);
	/* too much is no result that stands: the next look is exact, too */
	end_children();
	start(idle);
	start(idle);
	start(idle);
	sample_again(100 * MIB, &w);
	ck_assert_uint_lt(w.memory_bytes, 64 * MIB);
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
	struct watch before, after;

	if (!can_watch())
		return;
	sample(NO_LIMIT, &before);
	start(act);
	sample(NO_LIMIT, &after);
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

/* its child burns, and ends when it is told to, by the end of a pipe; nobody waits for it */
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
	struct watch w, found;
	uint64_t before_us;

	if (!can_watch())
		return;
	start(burn_in_a_child_that_is_lost);
	sample(NO_LIMIT, &w);
	ck_assert_uint_eq(w.processes, 2);
	before_us = w.cpu_us;
	ck_assert_uint_ge(before_us, 150000);
	kill_below(children[0]);
	for (int i = 0; i < TRIES && w.processes > 1; i++) {
		(void)usleep(20000);
		sample_again(NO_LIMIT, &w);
	}
	ck_assert_uint_eq(w.processes, 1);
	ck_assert_uint_ge(w.cpu_us, before_us);
	/* and what is found now is less */
	sample(NO_LIMIT, &found);
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
	struct watch w = { 0 };

	if (!can_watch())
		return;
	start(have_short_children);
	while (w.cpu_us < 1500000)
		sample_again(NO_LIMIT, &w);
	ck_assert_uint_lt(w.lost_us, w.cpu_us / 10);
}
END_TEST

Suite *jail_watch_suite(void)
{
	Suite *s = suite_create("jail watch");
	TCase *c = tcase_create("watch");

	tcase_set_timeout(c, 120);
	tcase_add_checked_fixture(c, adopt, end_children);
	tcase_add_test(c, nobody_is_nobody);
	tcase_add_test(c, what_cannot_be_read_is_not_nothing);
	tcase_add_loop_test(c, it_is_all_or_an_error, 1, 6);
	tcase_add_test(c, memory_of_other_threads_is_counted);
	tcase_add_test(c, private_memory_is_counted);
	tcase_add_test(c, shared_memory_is_counted);
	tcase_add_test(c, every_generation_is_counted);
	tcase_add_test(c, none_of_many_is_lost);
	tcase_add_test(c, children_of_threads_are_counted);
	tcase_add_test(c, pages_of_a_fork_are_counted_once);
	tcase_add_test(c, cpu_time_is_counted);
	tcase_add_test(c, cpu_time_of_ended_children_is_counted);
	tcase_add_test(c, names_do_not_confuse);
	tcase_add_test(c, exact_counts_take_little_of_the_time);
	tcase_add_test(c, an_exact_count_is_made_again);
	tcase_add_test(c, cpu_time_that_nobody_waits_for_stays);
	tcase_add_test(c, what_is_waited_for_is_counted_once);
	suite_add_tcase(s, c);
	return s;
}
