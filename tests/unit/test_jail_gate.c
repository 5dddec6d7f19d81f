/* SPDX-License-Identifier: MIT */
/*
 * test_jail_gate.c - the gate: who stands at it, and what comes through it
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "init/io.h"
#include "init/wire.h"
#include "jail/walls/gate.h"
#include "tests/unit/suites.h"

static void make(int ends[2])
{
	struct err e = { 0 };

	ck_assert_msg(gate_make(&ends[0], &ends[1], &e) == 0, "%s", e.text);
	ck_assert_int_eq(fcntl(ends[0], F_GETFD), FD_CLOEXEC);
	ck_assert_int_eq(fcntl(ends[1], F_GETFD), FD_CLOEXEC);
}

static void done(int ends[2])
{
	io_close_fd(&ends[0]);
	io_close_fd(&ends[1]);
}

/* these bytes, and so many copies of @fd beside them */
static void send_raw(int inside, const void *bytes, size_t length, int fd, size_t count)
{
	struct iovec iov = { (void *)(uintptr_t)bytes, length };
	union {
		char room[CMSG_SPACE(8 * sizeof(int))];
		struct cmsghdr part;
	} control = { 0 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	control.part =
		(struct cmsghdr){ CMSG_LEN(count * sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
	for (size_t i = 0; i < count; i++)
		memcpy(CMSG_DATA(&control.part) + i * sizeof(int), &fd, sizeof(int));
	if (count) {
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(count * sizeof(int));
	}
	ck_assert_int_eq(sendmsg(inside, &msg, 0), (ssize_t)length);
}

static const unsigned char *ready(uint32_t type, uint32_t length)
{
	static unsigned char head[WIRE_HEADER_BYTES];

	wire_pack(&(struct wire_header){ .type = (uint16_t)type, .length = length },
		  head);
	return head;
}

/* READY, with so many fds beside each of its first bytes */
static void send_ready(int inside, int fd, const size_t counts[GATE_FDS])
{
	const unsigned char *head = ready(WIRE_READY, 0);

	for (size_t i = 0; i < GATE_FDS; i++)
		send_raw(inside, head + i, 1, fd, counts[i]);
	send_raw(inside, head + GATE_FDS, WIRE_HEADER_BYTES - GATE_FDS, -1, 0);
}

/* all of READY, however long it takes */
static int receive(int outside, struct gate_ready *ready, struct err *e)
{
	struct pollfd there = { .fd = outside, .events = POLLIN };
	int r;

	while ((r = gate_receive(outside, ready, e)) == -EAGAIN)
		ck_assert_int_eq(poll(&there, 1, 60000), 1);
	return r;
}

START_TEST(fds_come_along_close_on_exec)
{
	struct err e = { 0 };
	struct stat sent, got;
	struct gate_ready got_ready = { 0 };
	int ends[2], file = open("/dev/zero", O_RDONLY);

	make(ends);
	send_ready(ends[1], file, (const size_t[]){ 1, 1, 1, 1 });

	int before = unit_fds();

	ck_assert_msg(gate_receive(ends[0], &got_ready, &e) == 1, "%s", e.text);
	ck_assert_int_eq(got_ready.program, getpid());
	ck_assert_int_eq(unit_fds(), before + GATE_FDS);
	ck_assert_int_eq(fstat(file, &sent), 0);
	for (size_t i = 0; i < GATE_FDS; i++) {
		ck_assert_int_ge(got_ready.fd[i], 3);
		ck_assert_int_ne(got_ready.fd[i], file);
		ck_assert_int_eq(fcntl(got_ready.fd[i], F_GETFD), FD_CLOEXEC);
		ck_assert_int_eq(fstat(got_ready.fd[i], &got), 0);
		ck_assert_uint_eq(sent.st_rdev, got.st_rdev);
	}
	gate_close(&got_ready);
	ck_assert_int_eq(unit_fds(), before);
	(void)close(file);
	done(ends);
}
END_TEST

START_TEST(no_fd_is_none)
{
	struct err e = { 0 };
	struct gate_ready got = { 0 };
	int ends[2];

	make(ends);
	send_raw(ends[1], ready(WIRE_READY, 0), WIRE_HEADER_BYTES, -1, 0);
	ck_assert_int_eq(gate_receive(ends[0], &got, &e), 1);
	for (size_t i = 0; i < GATE_FDS; i++)
		ck_assert_int_eq(got.fd[i], -1);
	ck_assert_int_eq(got.program, getpid());
	done(ends);
}
END_TEST

/* and nobody waits for the rest */
START_TEST(a_part_is_not_all)
{
	static const size_t parts[] = { 0, 1, 2, 3, WIRE_HEADER_BYTES - 1 };
	struct err e = { 0 };
	struct gate_ready got = { 0 };
	int ends[2], file = open("/dev/zero", O_RDONLY);
	const unsigned char *head = ready(WIRE_READY, 0);

	make(ends);
	if (parts[_i])
		send_raw(ends[1], head, parts[_i], file, 1);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(gate_receive(ends[0], &got, &e), -EAGAIN);
	send_raw(ends[1], head + parts[_i], WIRE_HEADER_BYTES - parts[_i], file,
		 parts[_i] == 0);
	ck_assert_int_eq(gate_receive(ends[0], &got, &e), 1);
	ck_assert_int_eq(got.program, getpid());
	ck_assert_int_ge(got.fd[GATE_NETLINK], 3);
	gate_close(&got);
	(void)close(file);
	done(ends);
}
END_TEST

/* one too many, and far too many, beside each byte: nothing stays open */
START_TEST(more_fds_are_nonsense)
{
	static const size_t counts[][GATE_FDS] = {
		{ 2, 1, 1, 1 }, { 8, 0, 0, 0 }, { 1, 2, 1, 1 }, { 0, 8, 0, 0 },
		{ 1, 1, 2, 1 }, { 0, 0, 8, 0 }, { 1, 1, 1, 2 }, { 0, 0, 0, 8 },
	};

	for (size_t i = 0; i < COUNT(counts); i++) {
		struct err e = { 0 };
		struct gate_ready got = { 0 };
		int ends[2], file = open("/dev/zero", O_RDONLY);

		make(ends);
		send_ready(ends[1], file, counts[i]);

		int before = unit_fds();

		ck_assert_int_eq(gate_receive(ends[0], &got, &e), -EBADMSG);
		ck_assert_int_eq(unit_fds(), before);
		(void)close(file);
		done(ends);
	}
}
END_TEST

START_TEST(nonsense_is_refused)
{
	static const struct {
		uint32_t type, length;
		size_t bytes;
	} rows[] = {
		{ WIRE_GO, 0, WIRE_HEADER_BYTES },
		{ WIRE_EXIT, 0, WIRE_HEADER_BYTES },
		{ WIRE_READY, 4, WIRE_HEADER_BYTES },
		{ 999, 0, WIRE_HEADER_BYTES },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct err e = { 0 };
		struct gate_ready got = { 0 };
		int ends[2];

		make(ends);
		send_raw(ends[1], ready(rows[i].type, rows[i].length), rows[i].bytes, -1,
			 0);
		ck_assert_int_eq(gate_receive(ends[0], &got, &e), -EBADMSG);
		ck_assert_ptr_nonnull(strstr(e.text, "says nonsense"));
		for (size_t at = 0; at < GATE_FDS; at++)
			ck_assert_int_eq(got.fd[at], -1);
		done(ends);
	}
}
END_TEST

static int end_of(pid_t pid)
{
	int status;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* the pid that was looked at is the pid that waits */
START_TEST(two_who_stand_there_are_nonsense)
{
	struct err e = { 0 };
	struct gate_ready got = { 0 };
	int ends[2];
	pid_t pid;

	make(ends);
	send_raw(ends[1], ready(WIRE_READY, 0), 1, -1, 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		send_raw(ends[1], ready(WIRE_READY, 0) + 1, 1, -1, 0);
		_exit(0);
	}
	ck_assert_int_eq(end_of(pid), 0);
	ck_assert_int_eq(gate_receive(ends[0], &got, &e), -EBADMSG);
	done(ends);
}
END_TEST

START_TEST(an_end_of_file_is_no_program)
{
	struct err e = { 0 };
	struct gate_ready got = { 0 }, part = { 0 };
	int ends[2];

	make(ends);
	io_close_fd(&ends[1]);
	ck_assert_int_eq(gate_receive(ends[0], &got, &e), 0);
	done(ends);
	/* also where a stage failed behind the sockets: they do not stay open */
	make(ends);

	int before = unit_fds(), file = open("/dev/zero", O_RDONLY);

	for (size_t i = 0; i < (size_t)_i; i++)
		send_raw(ends[1], ready(WIRE_READY, 0) + i, 1, file, 1);
	(void)close(file);
	io_close_fd(&ends[1]);
	ck_assert_int_eq(gate_receive(ends[0], &part, &e), 0);
	for (size_t i = 0; i < GATE_FDS; i++)
		ck_assert_int_eq(part.fd[i], -1);
	ck_assert_int_eq(unit_fds(), before - 1);
	done(ends);
}
END_TEST

/* in a child: stand at the gate, and end as is told */
static _Noreturn void stand(int ends[2], int file)
{
	int socket = open("/dev/null", O_RDONLY), none = -1;
	struct err e = { 0 };

	(void)close(ends[0]);
	_exit(gate_hand_over(ends[1], GATE_NETLINK, &socket, &e) == 0 &&
			      gate_hand_over(ends[1], GATE_PORT, &none, &e) == 0 &&
			      gate_hand_over(ends[1], GATE_LOCKS, &none, &e) == 0 &&
			      gate_hand_over(ends[1], GATE_LISTENER, &file, &e) == 0 &&
			      gate_wait(ends[1], 3, &e) == 0
		      ? 7
		      : 8);
}

START_TEST(the_gate_opens_or_does_not)
{
	for (int opens = 0; opens < 2; opens++) {
		struct err e = { 0 };
		struct gate_ready got = { 0 };
		int ends[2], file = open("/dev/zero", O_RDONLY);
		pid_t pid;

		make(ends);
		pid = fork();
		ck_assert_int_ge(pid, 0);
		if (pid == 0)
			stand(ends, opens ? file : -1);
		io_close_fd(&ends[1]);
		ck_assert_int_eq(receive(ends[0], &got, &e), 1);
		ck_assert_uint_eq(got.landlock, 3);
		ck_assert_int_eq(got.program, pid);
		ck_assert_int_eq(got.fd[GATE_LISTENER] >= 0, opens);
		ck_assert_int_eq(waitpid(pid, NULL, WNOHANG), 0);
		if (opens)
			ck_assert_int_eq(gate_open(&ends[0]), 0);
		else
			io_close_fd(&ends[0]);
		ck_assert_int_eq(ends[0], -1);
		ck_assert_int_eq(end_of(pid), opens ? 7 : 8);
		gate_close(&got);
		(void)close(file);
	}
}
END_TEST

/* in there it is PID 2, out here what the kernel says */
static void stand_elsewhere(void *arg)
{
	struct gate_ready got = { 0 };
	int *ends = arg, status;
	pid_t init;
	struct err e = { 0 };

	if (!unit_namespace(CLONE_NEWPID))
		return;
	init = fork();
	MUST(init >= 0);
	if (init == 0) {
		if (fork() == 0)
			stand(ends, -1);
		(void)wait(&status);
		_exit(getpid() == 1 && WEXITSTATUS(status) == 7 ? 0 : 1);
	}
	MUST(receive(ends[0], &got, &e) == 1);
	MUST(got.program > init && getpgid(got.program) == getpgid(0));
	MUST(gate_open(&ends[0]) == 0);
	MUST(waitpid(init, &status, 0) == init && status == 0);
}

START_TEST(the_pid_is_the_launchers)
{
	int ends[2];

	make(ends);
	unit_child(stand_elsewhere, ends);
	done(ends);
}
END_TEST

Suite *jail_gate_suite(void)
{
	Suite *s = suite_create("jail gate");
	TCase *c = tcase_create("gate");

	tcase_add_test(c, fds_come_along_close_on_exec);
	tcase_add_test(c, no_fd_is_none);
	tcase_add_loop_test(c, a_part_is_not_all, 0, 5);
	tcase_add_test(c, more_fds_are_nonsense);
	tcase_add_test(c, nonsense_is_refused);
	tcase_add_test(c, two_who_stand_there_are_nonsense);
	tcase_add_loop_test(c, an_end_of_file_is_no_program, 0, GATE_FDS + 1);
	tcase_add_test(c, the_gate_opens_or_does_not);
	tcase_add_test(c, the_pid_is_the_launchers);
	suite_add_tcase(s, c);
	return s;
}
