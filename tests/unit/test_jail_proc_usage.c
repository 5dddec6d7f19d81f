/* SPDX-License-Identifier: MIT */
/*
 * test_jail_proc_usage.c - what a tree of processes uses, sampled from /proc
 *
 * The test's own process plays init, children of its the program.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
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

#include "jail/plan/plan.h"
#include "jail/watch/proc_usage.h"
#include "tests/unit/suites.h"
#include "tests/unit/watched.h"

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

static void take_32(void)
{
	watched_touch(32 * MIB, MAP_PRIVATE);
}

static void take_32_shared(void)
{
	watched_touch(32 * MIB, MAP_SHARED);
}

START_TEST(nobody_is_nobody)
{
	struct proc_usage w;

	if (!watched_can())
		return;
	watched_sample(NO_LIMIT, &w);
	ck_assert_uint_eq(w.processes, 0);
	ck_assert_uint_gt(w.memory_bytes, 0);
	/* one that has ended, or never was, is no error */
	w = (struct proc_usage){ 0 };
	ck_assert_int_eq(proc_usage_sample(0x3fffffff, NO_LIMIT, &w, &(struct err){ 0 }),
			 0);
	ck_assert_uint_eq(w.memory_bytes, 0);
	ck_assert_uint_eq(w.processes, 0);
}
END_TEST

/* in a child, as a limit of open files is not taken back: the watch finds none left */
static void sample_without_fds(void *arg)
{
	struct rlimit none = { 0, 0 };
	struct proc_usage w = { 0 };
	struct err e = { 0 };

	(void)arg;
	MUST(setrlimit(RLIMIT_NOFILE, &none) == 0);
	MUST(proc_usage_sample(getpid(), NO_LIMIT, &w, &e) == -EMFILE);
	MUST(e.errnum == EMFILE && strstr(e.text, "watch: "));
}

START_TEST(what_cannot_be_read_is_not_nothing)
{
	if (watched_can())
		unit_child(sample_without_fds, NULL);
}
END_TEST

/* the number of fds that are left is enough for the first files of a process, not for
 * all */
static void sample_with_few_fds(void *arg)
{
	struct proc_usage w = { 0 };
	struct err e = { 0 };
	int spare = *(int *)arg, fd = open("/dev/null", O_RDONLY);
	struct rlimit few = { (rlim_t)(fd + spare), (rlim_t)(fd + spare) };

	(void)close(fd);
	MUST(fd >= 0 && setrlimit(RLIMIT_NOFILE, &few) == 0);
	/* all of it, or an error: never less */
	if (proc_usage_sample(getpid(), NO_LIMIT, &w, &e) == 0)
		MUST(w.memory_bytes >= 32 * MIB);
	else
		MUST(e.errnum == EMFILE);
}

START_TEST(it_is_all_or_an_error)
{
	if (!watched_can())
		return;
	watched_touch(32 * MIB, MAP_PRIVATE);
	unit_child(sample_with_few_fds, &_i);
}
END_TEST

static void *take_in_thread(void *arg)
{
	watched_touch(32 * MIB, MAP_PRIVATE);
	(void)!write(*(int *)arg, "x", 1);
	for (;;)
		(void)pause();
	return arg;
}

/* the process's own files in /proc show no memory when its first thread has ended */
START_TEST(memory_of_other_threads_is_counted)
{
	struct proc_usage w;
	pthread_t thread;
	int ends[2];
	char byte;

	if (!watched_can())
		return;
	ck_assert_int_eq(pipe(ends), 0);

	pid_t pid = fork();

	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)pthread_create(&thread, NULL, take_in_thread, &ends[1]);
		syscall(SYS_exit, 0); /* this thread alone */
	}
	watched_children[watched_count++] = pid;
	(void)close(ends[1]);
	ck_assert_int_eq(read(ends[0], &byte, 1), 1);
	(void)close(ends[0]);
	for (int i = 0; i < TRIES; i++) {
		watched_sample(NO_LIMIT, &w);
		ck_assert_uint_ge(w.memory_bytes, 32 * MIB);
		watched_sample(0, &w);
		ck_assert_uint_ge(w.memory_bytes, 32 * MIB);
		if (is_zombie(pid))
			break;
		(void)usleep(20000);
	}
	ck_assert(is_zombie(pid));
	watched_sample(NO_LIMIT, &w);
	ck_assert_uint_ge(w.memory_bytes, 32 * MIB);
	watched_sample(0, &w);
	ck_assert_uint_ge(w.memory_bytes, 32 * MIB);
}
END_TEST

static int wait_for_ever(void *arg)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		(void)pause();
	return arg != NULL;
}

/* one below the other, as no process of the three has memory of its own */
static int have_one_below(void *arg)
{
	char *stack = arg;

	(void)clone(wait_for_ever, stack, CLONE_VM | SIGCHLD, NULL);
	return wait_for_ever(NULL);
}

static void take_32_for_three(void)
{
	char *stack = watched_touch(32 * MIB, MAP_PRIVATE);

	if (clone(have_one_below, stack + (2 << 20), CLONE_VM | SIGCHLD, stack + MIB) < 0)
		_exit(1);
}

/* children of vfork(2), too, until they execute something */
START_TEST(memory_of_clone_vm_is_counted_once)
{
	struct proc_usage before = { 0 }, w = { 0 };

	if (!watched_can())
		return;
	watched_sample(0, &before);
	watched_start(take_32_for_three);
	for (int i = 0; i < TRIES && w.processes != 3; i++) {
		(void)usleep(20000);
		watched_sample(0, &w);
	}
	ck_assert_uint_eq(w.processes, 3);
	ck_assert_uint_ge(w.memory_bytes, before.memory_bytes + 32 * MIB);
	ck_assert_uint_lt(w.memory_bytes, before.memory_bytes + 60 * MIB);
	/* and where it is less than the limit, nobody has to look so closely */
	watched_sample(NO_LIMIT, &w);
	ck_assert_uint_ge(w.memory_bytes, before.memory_bytes + 96 * MIB);
}
END_TEST

static int fds[2];

/* its first thread has ended, and a second one has the memory */
static void be_headless(void)
{
	pthread_t thread;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)pthread_create(&thread, NULL, take_in_thread, &fds[1]);
	syscall(SYS_exit, 0);
}

/* two without a first thread are one to the kernel, since neither has memory there: the
 * parent, and its child by its second thread */
static void *fork_headless(void *arg)
{
	if (fork() == 0)
		be_headless();
	return take_in_thread(arg);
}

START_TEST(two_that_have_lost_their_first_thread_are_two)
{
	struct proc_usage before = { 0 }, w = { 0 };
	pthread_t thread;
	char byte[2];

	if (!watched_can())
		return;
	watched_sample(0, &before);
	ck_assert_int_eq(pipe(fds), 0);

	pid_t pid = fork();

	if (pid == 0) {
		(void)pthread_create(&thread, NULL, fork_headless, &fds[1]);
		syscall(SYS_exit, 0);
	}
	watched_children[watched_count++] = pid;
	ck_assert_int_eq(read(fds[0], byte, 1), 1);
	ck_assert_int_eq(read(fds[0], byte, 1), 1);
	for (int i = 0; i < TRIES && !is_zombie(pid); i++)
		(void)usleep(20000);
	watched_sample(0, &w);
	ck_assert_uint_eq(w.processes, 2);
	ck_assert_uint_ge(w.memory_bytes, before.memory_bytes + 64 * MIB);
	(void)close(fds[0]);
	(void)close(fds[1]);
}
END_TEST

static void ck_grows(void (*act)(void))
{
	struct proc_usage before, after, gone;

	if (!watched_can())
		return;
	watched_start(watched_idle);
	watched_sample(NO_LIMIT, &before);
	ck_assert_uint_eq(before.processes, 1);
	watched_start(act);
	watched_sample(NO_LIMIT, &after);
	ck_assert_uint_eq(after.processes, 2);
	ck_assert_uint_ge(after.memory_bytes, before.memory_bytes + 32 * MIB);
	watched_end();
	watched_sample(NO_LIMIT, &gone);
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
	struct proc_usage w = { 0 };

	if (!watched_can())
		return;
	watched_start(have_grandchildren);
	for (int i = 0; i < TRIES && w.processes != 5; i++) {
		(void)usleep(20000);
		watched_sample(NO_LIMIT, &w);
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
	struct proc_usage w = { 0 };

	if (!watched_can())
		return;
	made = mmap(NULL, sizeof(*made), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert(made != MAP_FAILED);
	watched_start(have_many);
	watched_sample(NO_LIMIT, &w);
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
	struct proc_usage w = { 0 };

	if (!watched_can())
		return;
	watched_start(have_a_child_in_a_thread);
	for (int i = 0; i < TRIES && w.processes != 2; i++) {
		(void)usleep(20000);
		watched_sample(NO_LIMIT, &w);
	}
	ck_assert_uint_eq(w.processes, 2);
}
END_TEST

Suite *jail_proc_usage_suite(void)
{
	Suite *s = suite_create("jail proc usage");
	TCase *c = tcase_create("proc usage");

	tcase_set_timeout(c, 120);
	tcase_add_checked_fixture(c, watched_adopt, watched_end);
	tcase_add_test(c, nobody_is_nobody);
	tcase_add_test(c, what_cannot_be_read_is_not_nothing);
	tcase_add_loop_test(c, it_is_all_or_an_error, 1, 6);
	tcase_add_test(c, memory_of_other_threads_is_counted);
	tcase_add_test(c, memory_of_clone_vm_is_counted_once);
	tcase_add_test(c, two_that_have_lost_their_first_thread_are_two);
	tcase_add_test(c, private_memory_is_counted);
	tcase_add_test(c, shared_memory_is_counted);
	tcase_add_test(c, every_generation_is_counted);
	tcase_add_test(c, none_of_many_is_lost);
	tcase_add_test(c, children_of_threads_are_counted);
	suite_add_tcase(s, c);
	return s;
}
