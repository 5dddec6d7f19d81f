/* SPDX-License-Identifier: MIT */
/*
 * test_jail_keeper.c - the keeper ends what it was given, and obeys nobody else
 *
 * A child that sleeps plays a jail's init, and an empty folder its cgroup leaf.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "init/io.h"
#include "jail/launch/keeper.h"
#include "tests/unit/suites.h"

static struct keeper k;
static struct err e;
static const char *base;
static int base_fd, pidfd;
static pid_t init;

static void look(void *owner, pid_t pid, struct keeper_sample *s)
{
	s->memory_bytes = (uint64_t)pid;
	s->processes = *(const unsigned int *)owner;
}

static void start(bool one)
{
	static unsigned int processes = 7;

	base = unit_folder();
	base_fd = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	k = (struct keeper){
		.socket = -1, .one = one, .look = look, .owner = &processes
	};
	ck_assert_int_eq(keeper_start(&k, &e), 0);
	init = fork();
	if (init == 0)
		for (;;)
			(void)pause();
	pidfd = (int)syscall(SYS_pidfd_open, init, 0);
	ck_assert_int_ge(pidfd, 0);
}

static uint32_t add(const char *name)
{
	uint32_t id;

	ck_assert_int_eq(keeper_add(&k, base_fd, name, &id, &e), 0);
	ck_assert_int_eq(mkdir(unit_path(base, name), 0755), 0);
	return id;
}

static void expect_killed(void)
{
	int status;

	ck_assert_int_eq(waitpid(init, &status, 0), init);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static bool there_is(const char *name)
{
	return access(unit_path(base, name), F_OK) == 0;
}

static void await_end_of(pid_t pid)
{
	struct pollfd end = { .fd = (int)syscall(SYS_pidfd_open, pid, 0),
			      .events = POLLIN };

	ck_assert_int_eq(poll(&end, 1, 20000), 1);
}

START_TEST(its_end_is_the_end_of_all_jails_and_leaves)
{
	uint32_t id;

	start(false);
	id = add("leaf");
	ck_assert_int_eq(keeper_give(&k, &id, init, pidfd, -1, &e), 0);
	(void)add("empty");
	ck_assert_int_eq(keeper_end(&k, &e), 0);
	expect_killed();
	ck_assert(!there_is("leaf") && !there_is("empty"));
	/* again is harmless */
	ck_assert_int_eq(keeper_end(&k, &e), 0);
}
END_TEST

START_TEST(it_is_forked_once)
{
	pid_t first;

	base = unit_folder();
	base_fd = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	k = (struct keeper){ .socket = -1, .one = true };
	ck_assert_int_eq(keeper_start(&k, &e), 0);
	first = k.pid;
	ck_assert_int_gt(first, 0);
	(void)add("leaf");
	ck_assert_int_eq(keeper_start(&k, &e), 0);
	ck_assert_int_eq(k.pid, first);
	ck_assert_int_eq(keeper_end(&k, &e), 0);
	ck_assert(!there_is("leaf"));
}
END_TEST

START_TEST(a_killed_launcher_leaves_nothing)
{
	uint32_t id;
	pid_t launcher;

	base = unit_folder();
	base_fd = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	launcher = fork();
	if (launcher == 0) {
		k = (struct keeper){ .socket = -1 };

		int ready = keeper_start(&k, &e);

		ready |= keeper_add(&k, base_fd, "leaf", &id, &e);
		ready |= mkdirat(base_fd, "leaf", 0755);
		(void)kill(getpid(), ready == 0 ? SIGKILL : SIGTERM);
	}
	ck_assert_int_eq(waitpid(launcher, &(int){ 0 }, 0), launcher);
	for (int i = 0; i < 2000 && there_is("leaf"); i++)
		(void)usleep(10000);
	ck_assert(!there_is("leaf"));
}
END_TEST

START_TEST(a_dropped_jail_is_ended_and_others_are_not)
{
	uint32_t id;

	start(false);
	(void)add("other");
	id = add("leaf");
	ck_assert_int_eq(keeper_give(&k, &id, init, pidfd, -1, &e), 0);
	ck_assert_int_eq(keeper_drop(&k, id), 0);
	expect_killed();
	for (int i = 0; i < 2000 && there_is("leaf"); i++)
		(void)usleep(10000);
	ck_assert(!there_is("leaf") && there_is("other"));
	ck_assert_int_eq(keeper_end(&k, &e), 0);
	ck_assert(!there_is("other"));
}
END_TEST

START_TEST(a_leaf_that_stays_is_told)
{
	start(false);
	(void)add("leaf");
	ck_assert_int_eq(mkdirat(base_fd, "leaf/inside", 0755), 0);
	/* a plain folder that is not empty: rmdir(2) says so, and not EBUSY */
	ck_assert_int_eq(keeper_end(&k, &e), -ENOTEMPTY);
	(void)kill(init, SIGKILL);
}
END_TEST

START_TEST(what_is_sealed_takes_no_more)
{
	uint32_t id = 0, late;
	pid_t other = fork();
	int fd;

	if (other == 0)
		for (;;)
			(void)pause();
	fd = (int)syscall(SYS_pidfd_open, other, 0);
	start(true);
	ck_assert_int_eq(keeper_give(&k, &id, init, pidfd, -1, &e), 0);
	/* neither a leaf nor a process that a watcher would like to be rid of */
	late = add("leaf");
	ck_assert_int_eq(keeper_give(&k, &late, other, fd, -1, &e), 0);
	late = 0;
	ck_assert_int_eq(keeper_give(&k, &late, other, fd, -1, &e), 0);
	ck_assert_int_eq(keeper_kill(&k, late), 0);
	ck_assert_int_eq(keeper_end(&k, &e), 0);
	expect_killed();
	ck_assert(there_is("leaf"));
	ck_assert_int_eq(waitpid(other, NULL, WNOHANG), 0);
	(void)kill(other, SIGKILL);
}
END_TEST

START_TEST(a_process_is_given_once)
{
	pid_t other = fork();
	uint32_t id = 0;
	int fd;

	if (other == 0)
		for (;;)
			(void)pause();
	start(false);
	fd = (int)syscall(SYS_pidfd_open, other, 0);
	ck_assert_int_eq(keeper_give(&k, &id, init, pidfd, -1, &e), 0);
	ck_assert_int_eq(keeper_give(&k, &id, other, fd, -1, &e), 0);
	ck_assert_int_eq(keeper_end(&k, &e), 0);
	expect_killed();
	ck_assert_int_eq(waitpid(other, NULL, WNOHANG), 0);
	(void)kill(other, SIGKILL);
}
END_TEST

START_TEST(samples_are_answered)
{
	struct keeper_sample s;
	uint32_t id = 0;

	start(true);
	ck_assert_int_eq(keeper_give(&k, &id, init, pidfd, -1, &e), 0);
	ck_assert_int_eq(keeper_take_sample(&k, 0, &s), 0);
	ck_assert_int_eq(keeper_ask_sample(&k, 7), 0);
	ck_assert_int_eq(keeper_take_sample(&k, 20000, &s), 1);
	ck_assert_int_eq(s.errnum, ESRCH);
	ck_assert_int_eq(keeper_ask_sample(&k, id), 0);
	ck_assert_int_eq(keeper_take_sample(&k, 20000, &s), 1);
	ck_assert_int_eq(s.errnum, 0);
	ck_assert_uint_eq(s.memory_bytes, (uint64_t)init);
	ck_assert_uint_eq(s.processes, 7);
	/* one that nobody takes holds up nothing */
	ck_assert_int_eq(keeper_ask_sample(&k, id), 0);
	ck_assert_int_eq(keeper_end(&k, &e), 0);
	expect_killed();
}
END_TEST

START_TEST(a_killed_keeper_is_told)
{
	struct keeper_sample s;
	pid_t pid;

	start(false);
	(void)add("leaf");
	pid = k.pid;
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	await_end_of(pid);
	ck_assert_int_lt(keeper_kill(&k, 1), 0);
	ck_assert_int_eq(keeper_take_sample(&k, 0, &s), -EPIPE);
	ck_assert_int_eq(keeper_end(&k, &e), -EOWNERDEAD);
	ck_assert(there_is("leaf"));
	(void)kill(init, SIGKILL);
}
END_TEST

START_TEST(nonsense_is_passed_over)
{
	unsigned char bytes[512] = { 0xff };
	uint32_t id = 0;

	start(false);
	ck_assert_int_eq(keeper_give(&k, &id, init, pidfd, -1, &e), 0);
	for (size_t n = 1; n <= sizeof(bytes); n++)
		ck_assert_int_eq(send(k.socket, bytes, n, MSG_NOSIGNAL), (int)n);
	ck_assert_int_eq(keeper_kill(&k, 12345), 0);
	ck_assert_int_eq(waitpid(init, NULL, WNOHANG), 0);
	ck_assert_int_eq(keeper_end(&k, &e), 0);
	expect_killed();
}
END_TEST

Suite *jail_keeper_suite(void)
{
	Suite *s = suite_create("jail/keeper");
	TCase *c = tcase_create("keeper");

	tcase_set_timeout(c, 60);
	tcase_add_test(c, its_end_is_the_end_of_all_jails_and_leaves);
	tcase_add_test(c, it_is_forked_once);
	tcase_add_test(c, a_killed_launcher_leaves_nothing);
	tcase_add_test(c, a_dropped_jail_is_ended_and_others_are_not);
	tcase_add_test(c, a_leaf_that_stays_is_told);
	tcase_add_test(c, what_is_sealed_takes_no_more);
	tcase_add_test(c, a_process_is_given_once);
	tcase_add_test(c, samples_are_answered);
	tcase_add_test(c, a_killed_keeper_is_told);
	tcase_add_test(c, nonsense_is_passed_over);
	suite_add_tcase(s, c);
	return s;
}
