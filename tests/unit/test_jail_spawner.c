/* SPDX-License-Identifier: MIT */
/*
 * test_jail_spawner.c - what a supervisor may ask of the spawner, and what a hostile one
 * comes to. Jails are played (played.h): each is launched, and says nothing.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jail/base/fd_passing.h"
#include "jail/launch/keeper.h"
#include "jail/plan/option.h"
#include "jail/serve/wire/spawn.h"
#include "jail/serve/spawner/spawner.h"
#include "tests/unit/played.h"
#include "tests/unit/suites.h"

#define BROKE 71 /* exit status of a spawner whose supervisor broke the rules */
#define ALONE 96 /* -EOWNERDEAD */
#define JAILS 3  /* that there may be: --sessions */

static int ask(int socket, uint32_t kind, uint32_t number, uint32_t value, const int *fds,
	       size_t count)
{
	const struct spawn_request q = { kind, number, value, 77 };

	return fd_passing_send(socket, &q, sizeof(q), fds, count);
}

static bool always; /* no jail without a template */
static bool alone;  /* its keeper has ended */

/* a spawner, and a supervisor that acts so; the spawner's exit status */
static int serve(int (*act)(int socket, int arg), int arg)
{
	static char *const words[] = { "/bin/interpreter", NULL };
	int ends[2], status;
	pid_t spawner;

	spawner = fork();
	ck_assert_int_ge(spawner, 0);
	if (spawner == 0) {
		static struct plan plan;
		static struct keeper keeper;
		static const struct confine none = { .root = -1 };
		struct parts parts = { .plan = &plan, .keeper = &keeper };
		struct err e = { 0 };
		sigset_t all;
		pid_t supervisor;
		int to_keeper[2], r;

		(void)sigfillset(&all);
		(void)sigdelset(&all, SIGCHLD); /* as cancel_open() has it */
		if (option_parse(&plan, (char *[]){ NULL }, &e) < 0 ||
		    sigprocmask(SIG_SETMASK, &all, NULL) < 0 ||
		    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
			       ends) < 0 ||
		    socketpair(AF_UNIX, SOCK_SEQPACKET, 0, to_keeper) < 0)
			_exit(99);
		plan.cold = always ? ANSWER_NO : ANSWER_YES;
		plan.deterministic = always ? ANSWER_YES : ANSWER_NO;
		keeper.socket = to_keeper[0];
		plan.limit[LIMIT_SESSIONS] = JAILS;
		supervisor = fork();
		if (supervisor == 0) {
			(void)close(ends[0]);
			(void)close(to_keeper[1]);
			_exit(act(ends[1], arg));
		}
		(void)close(ends[1]);
		if (alone)
			(void)close(to_keeper[1]);
		r = spawner_serve(&parts, words, ends[0], signalfd(-1, &all, SFD_CLOEXEC),
				  supervisor, &none, &e);
		_exit(r == -EPROTO ? BROKE : r == -EOWNERDEAD ? ALONE : r < 0 ? 98 : r);
	}
	ck_assert_int_eq(waitpid(spawner, &status, 0), spawner);
	ck_assert_msg(WIFEXITED(status), "status %#x", (unsigned int)status);
	return WEXITSTATUS(status);
}

/* the next answer of this kind; -1 where there is none any more */
static int hear(int socket, uint32_t kind, struct spawn_answer *a)
{
	for (;;) {
		struct pollfd there = { .fd = socket, .events = POLLIN };
		int fds[SPAWN_FDS];

		if (poll(&there, 1, 60000) != 1 ||
		    fd_passing_receive(socket, a, sizeof(*a), fds, SPAWN_FDS) != 0)
			return -1;
		if (a->kind == kind)
			return 0;
	}
}

static int lives(int socket, int arg)
{
	struct spawn_answer a;

	(void)arg;
	/* of templates there are none, so none is awaited */
	if (hear(socket, SPAWN_TEMPLATE, &a) < 0)
		return 1;
	for (uint32_t n = 1; n <= JAILS; n++)
		if (ask(socket, SPAWN_OPEN, n, 0, NULL, 0) < 0)
			return 2;
	/* one more than there may be */
	if (ask(socket, SPAWN_OPEN, 9, 0, NULL, 0) < 0 ||
	    hear(socket, SPAWN_FAILED, &a) < 0 || a.number != 9 || a.errnum != EMFILE)
		return 3;
	if (ask(socket, SPAWN_END, 9, 0, NULL, 0) < 0 ||
	    hear(socket, SPAWN_ENDED, &a) < 0 || a.number != 9 || a.errnum)
		return 4;
	/* a number is free when its jail has ended */
	if (ask(socket, SPAWN_END, 2, 0, NULL, 0) < 0 ||
	    hear(socket, SPAWN_ENDED, &a) < 0 || a.number != 2 ||
	    ask(socket, SPAWN_OPEN, 2, 0, NULL, 0) < 0 ||
	    ask(socket, SPAWN_END, 2, 0, NULL, 0) < 0 ||
	    hear(socket, SPAWN_ENDED, &a) < 0)
		return 5;
	/* the others end with the supervisor */
	return 42;
}

START_TEST(jails_come_and_go)
{
	ck_assert_int_eq(serve(lives, 0), 42);
}
END_TEST

static int reach_another(int socket, int arg)
{
	static const uint32_t kinds[] = { SPAWN_SIGNAL, SPAWN_SCORE, SPAWN_MEASURE };
	struct spawn_answer a;
	pid_t child = fork();
	int status, pidfd;

	if (child == 0) {
		(void)pause();
		_exit(0);
	}
	pidfd = (int)syscall(SYS_pidfd_open, child, 0);
	if (ask(socket, SPAWN_OPEN, 1, 0, NULL, 0) < 0 ||
	    ask(socket, kinds[arg], 1, arg ? 1 : SIGKILL, &pidfd, 1) < 0)
		return 1;
	if (arg != 1 &&
	    (hear(socket, arg ? SPAWN_MEASURED : SPAWN_UNSENT, &a) < 0 || a.number != 1 ||
	     a.errnum != EPERM || a.bytes || a.tag != (arg ? 77 : 0)))
		return 2;
	if (ask(socket, SPAWN_END, 1, 0, NULL, 0) < 0 ||
	    hear(socket, SPAWN_ENDED, &a) < 0)
		return 3;
	if (waitpid(child, &status, WNOHANG) != 0)
		return 4;
	(void)kill(child, SIGKILL);
	/* of one that is gone nobody speaks */
	if (waitpid(child, &status, 0) != child ||
	    ask(socket, SPAWN_OPEN, 2, 0, NULL, 0) < 0 ||
	    ask(socket, SPAWN_SIGNAL, 2, SIGKILL, &pidfd, 1) < 0 ||
	    ask(socket, SPAWN_END, 2, 0, NULL, 0) < 0)
		return 5;
	do
		if (poll(&(struct pollfd){ .fd = socket, .events = POLLIN }, 1, 60000) !=
			    1 ||
		    fd_passing_receive(socket, &a, sizeof(a), NULL, 0) != 0 ||
		    a.kind == SPAWN_UNSENT)
			return 6;
	while (a.kind != SPAWN_ENDED);
	return 42;
}

START_TEST(no_process_outside_of_the_jail_is_reached)
{
	ck_assert_int_eq(serve(reach_another, _i), 42);
}
END_TEST

static const struct {
	uint32_t kind, number, value;
	enum { NO_FD, PIDFD, FILE_FD, TWO_FDS } fd;
} bad[] = {
	{ 0, 5, 0, NO_FD },
	{ SPAWN_MEASURE + 1, 1, 0, NO_FD },
	{ UINT32_MAX, 5, 0, NO_FD },
	{ SPAWN_OPEN, 0, 0, NO_FD },
	{ SPAWN_OPEN, 1, 0, NO_FD }, /* it is there */
	{ SPAWN_OPEN, 5, 0, PIDFD },
	{ SPAWN_OPEN, 5, 0, FILE_FD },
	{ SPAWN_END, 5, 0, NO_FD },
	{ SPAWN_END, 1, 0, PIDFD },
	{ SPAWN_SIGNAL, 1, SIGKILL, NO_FD },
	{ SPAWN_SIGNAL, 1, SIGKILL, FILE_FD },
	{ SPAWN_SIGNAL, 1, SIGKILL, TWO_FDS },
	{ SPAWN_SIGNAL, 5, SIGKILL, PIDFD },
	{ SPAWN_SIGNAL, 1, 0, PIDFD },
	{ SPAWN_SIGNAL, 1, SIGTERM, PIDFD },
	{ SPAWN_SIGNAL, 1, SIGSTOP, PIDFD },
	{ SPAWN_SIGNAL, 1, SIGKILL + 256, PIDFD },
	{ SPAWN_SIGNAL, 1, UINT32_MAX, PIDFD },
	{ SPAWN_SCORE, 1, 2, PIDFD },
	{ SPAWN_SCORE, 1, UINT32_MAX, PIDFD },
	{ SPAWN_SCORE, 5, 1, PIDFD },
	{ SPAWN_SCORE, 1, 1, NO_FD },
	{ SPAWN_SCORE, 1, 1, FILE_FD },
	{ SPAWN_MEASURE, 1, SPAWN_MEASURES, PIDFD },
	{ SPAWN_MEASURE, 1, UINT32_MAX, PIDFD },
	{ SPAWN_MEASURE, 5, SPAWN_OWN, PIDFD },
	{ SPAWN_MEASURE, 1, SPAWN_OWN, NO_FD },
	{ SPAWN_MEASURE, 1, SPAWN_OWN, FILE_FD },
	{ SPAWN_MEASURE, 1, SPAWN_OWN, TWO_FDS },
};

/* until the spawner is gone, and with it this process */
static int await_end(int socket)
{
	struct spawn_answer a;

	while (hear(socket, SPAWN_STOP, &a) == 0)
		;
	(void)pause();
	return 1;
}

static int ask_badly(int socket, int arg)
{
	int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	int files[] = { STDERR_FILENO, STDERR_FILENO };
	const int *fds = bad[arg].fd == PIDFD ? &pidfd : files;
	size_t count = bad[arg].fd == TWO_FDS ? 2 : bad[arg].fd != NO_FD;

	if (ask(socket, SPAWN_OPEN, 1, 0, NULL, 0) < 0 ||
	    ask(socket, bad[arg].kind, bad[arg].number, bad[arg].value, fds, count) < 0)
		return 2;
	return await_end(socket);
}

START_TEST(whatever_else_it_asks_is_its_end)
{
	ck_assert_int_eq(serve(ask_badly, _i), BROKE);
}
END_TEST

static const size_t sizes[] = { 1, 12, 15, 17, 60000 };

static int send_bytes(int socket, int arg)
{
	static const unsigned char bytes[60000] = { SPAWN_OPEN, 0, 0, 0, 1 };

	if (send(socket, bytes, sizes[arg], MSG_NOSIGNAL) < 0)
		return 2;
	return await_end(socket);
}

START_TEST(a_request_is_one_of_its_size)
{
	ck_assert_int_eq(serve(send_bytes, _i), BROKE);
}
END_TEST

/* good ones and bad ones, until one is too bad; fds of all kinds */
static int ask_at_random(int socket, int arg)
{
	int fds[] = { STDERR_FILENO, (int)syscall(SYS_pidfd_open, getpid(), 0),
		      (int)syscall(SYS_pidfd_open, getppid(), 0), socket };

	srand((unsigned int)arg);
	for (int i = 0; i < 200; i++) {
		bool wild = rand() % 8 == 0;
		uint32_t kind = (uint32_t)(wild ? rand() : 1 + rand() % SPAWN_MEASURE);
		uint32_t number = (uint32_t)(wild ? rand() : 1 + rand() % 6);
		uint32_t value = (uint32_t)(wild ? rand() : rand() % 2 ? SIGKILL : 1);
		bool fd = kind == SPAWN_SIGNAL || kind == SPAWN_SCORE ||
			  kind == SPAWN_MEASURE;

		if (ask(socket, kind, number, value,
			&fds[wild ? rand() % 4 : 1 + rand() % 2],
			wild ? (size_t)rand() % 2 : fd) < 0)
			break;
	}
	return 42;
}

START_TEST(no_requests_crash_it)
{
	int r = serve(ask_at_random, _i);

	ck_assert_msg(r == BROKE || r == 42, "status %d", r);
}
END_TEST

static int be_killed(int socket, int arg)
{
	(void)arg;
	(void)ask(socket, SPAWN_OPEN, 1, 0, NULL, 0);
	(void)kill(getpid(), SIGKILL);
	return 1;
}

START_TEST(a_supervisor_that_was_killed_is_told)
{
	ck_assert_int_eq(serve(be_killed, 0), 98);
}
END_TEST

/* it reads nothing, and is told all of it later */
static int read_late(int socket, int arg)
{
	struct spawn_answer a;
	int ended = 0;

	(void)arg;
	for (uint32_t n = 2; n < 2 * 2001; n++) {
		struct pollfd room = { .fd = socket, .events = POLLOUT };
		int r;

		while ((r = ask(socket, n % 2 ? SPAWN_END : SPAWN_OPEN, n / 2, 0, NULL,
				0)) == -EAGAIN)
			if (poll(&room, 1, 60000) != 1)
				return 1;
		if (r < 0)
			return 2;
	}
	while (ended < 2000 && hear(socket, SPAWN_ENDED, &a) == 0)
		ended++;
	return ended == 2000 ? 42 : 3;
}

START_TEST(nothing_goes_on_without_a_keeper)
{
	alone = true;
	ck_assert_int_eq(serve(lives, 0), ALONE);
}
END_TEST

START_TEST(a_slow_reader_misses_nothing)
{
	ck_assert_int_eq(serve(read_late, 0), 42);
}
END_TEST

/* each of them is refused, and none is ended */
static int open_without_end(int socket, int arg)
{
	struct spawn_answer a;
	uint32_t n = 1;

	(void)arg;
	for (; ask(socket, SPAWN_OPEN, n, 0, NULL, 0) == 0; n++)
		if (n > JAILS && (hear(socket, SPAWN_FAILED, &a) < 0 || a.number != n))
			break;
	if (n < 1000)
		return 2;
	(void)pause();
	return 1;
}

START_TEST(what_is_refused_without_end_costs_no_memory_without_end)
{
	ck_assert_int_eq(serve(open_without_end, 0), 98);
}
END_TEST

/* where no launch takes them: 3 for each would soon be more than there may be */
static int fail_often(int socket, int arg)
{
	struct spawn_answer a;

	(void)arg;
	for (uint32_t n = 1; n < 3000; n++)
		if (ask(socket, SPAWN_OPEN, n, 0, NULL, 0) < 0 ||
		    hear(socket, SPAWN_FAILED, &a) < 0 || a.errnum != EAGAIN ||
		    ask(socket, SPAWN_END, n, 0, NULL, 0) < 0 ||
		    hear(socket, SPAWN_ENDED, &a) < 0)
			return (int)a.errnum;
	return 42;
}

START_TEST(a_failed_launch_leaves_no_fd)
{
	always = true;
	played_refuses = -EAGAIN;
	ck_assert_int_eq(serve(fail_often, 0), 42);
	always = false;
	played_refuses = 0;
}
END_TEST

Suite *jail_spawner_suite(void)
{
	Suite *s = suite_create("jail spawner");
	TCase *c = tcase_create("spawner");

	tcase_set_timeout(c, 300);
	tcase_add_test(c, jails_come_and_go);
	tcase_add_loop_test(c, no_process_outside_of_the_jail_is_reached, 0, 3);
	tcase_add_loop_test(c, whatever_else_it_asks_is_its_end, 0,
			    sizeof(bad) / sizeof(bad[0]));
	tcase_add_loop_test(c, a_request_is_one_of_its_size, 0,
			    sizeof(sizes) / sizeof(sizes[0]));
	tcase_add_loop_test(c, no_requests_crash_it, 0, 100);
	tcase_add_test(c, a_supervisor_that_was_killed_is_told);
	tcase_add_test(c, nothing_goes_on_without_a_keeper);
	tcase_add_test(c, a_slow_reader_misses_nothing);
	tcase_add_test(c, what_is_refused_without_end_costs_no_memory_without_end);
	tcase_add_test(c, a_failed_launch_leaves_no_fd);
	suite_add_tcase(s, c);
	return s;
}
