/* SPDX-License-Identifier: MIT */
/*
 * call.c - the caller's end of a helper's socket: see call.h
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "init/filter.h"
#include "init/io.h"
#include "jail/base/clock.h"
#include "jail/base/fd_passing.h"
#include "jail/helper/call.h"

#include "filter_caller.h"

#define STATUS_FAILED 125

static int late(struct err *e)
{
	return err_say(
		e, ETIMEDOUT,
		"the jail's helper has not answered within %d s: the jail's program has stopped it (SIGSTOP), or %d programs that it started run already",
		CALL_MS / 1000, CALLS_MAX);
}

static int await(int fd, short events, uint64_t until_ms, struct err *e)
{
	struct pollfd wanted = { .fd = fd, .events = events };
	uint64_t now_ms;
	int r;

	do {
		now_ms = clock_now_ms();
		r = poll(&wanted, 1, now_ms < until_ms ? (int)(until_ms - now_ms) : 0);
	} while (r < 0 && errno == EINTR);
	return r == 1 ? 0 : late(e);
}

static int connect_to(int folder, const char *name, struct err *e)
{
	const struct sockaddr_un at = helper_address(folder, name);
	const struct timeval most = { .tv_sec = CALL_MS / 1000 };
	cleanup_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most)) < 0 ||
	    connect(fd, (const struct sockaddr *)&at, sizeof(at)) < 0)
		return errno == EAGAIN
			       ? late(e)
			       : err_set(e, errno, "connect to the jail's helper");
	return io_steal_fd(&fd);
}

static int send_words(int to, char *const *words, size_t count, uint64_t until_ms,
		      struct err *e)
{
	int r = 0;

	for (size_t i = 0; i < count; i++)
		for (size_t at = 0, end = strlen(words[i]) + 1; r == 0 && at < end;) {
			ssize_t n = send(to, words[i] + at, end - at,
					 MSG_DONTWAIT | MSG_NOSIGNAL);

			if (n > 0)
				at += (size_t)n;
			else if (errno == EAGAIN)
				r = await(to, POLLOUT, until_ms, e);
			else
				r = err_set(e, errno, "talk to the jail's helper");
		}
	return r;
}

/* a byte of the helper's, which the jail's program may have stopped or ended */
static int hear(int from, uint64_t until_ms, struct err *e)
{
	char byte;
	int r = await(from, POLLIN, until_ms, e);

	return r < 0 || recv(from, &byte, 1, 0) == 1
		       ? r
		       : err_say(e, EPROTO,
				 "the jail's helper has not started it: it was ended, or has no --files left");
}

int call_begin(int folder, const char *name, char *const *words, size_t count,
	       size_t args, const int stdio[3], struct err *e)
{
	struct call_head h = { .args = (uint32_t)args,
			       .env = (uint32_t)(count - args - 1) };
	const uint64_t until_ms = clock_now_ms() + CALL_MS;
	int started[2] = { -1, -1 }, r;
	unsigned char why;
	ssize_t n;

	for (size_t i = 0; i < count && h.bytes <= CALL_BYTES_MAX; i++)
		h.bytes += (uint32_t)strnlen(words[i], CALL_BYTES_MAX) + 1;
	if (h.bytes > CALL_BYTES_MAX || count > CALL_WORDS_MAX)
		return err_say(
			e, E2BIG,
			"arguments and environment may have %u words and %u bytes in all",
			CALL_WORDS_MAX, CALL_BYTES_MAX);

	cleanup_fd int fd = connect_to(folder, name, e);

	if (fd < 0)
		return fd;
	r = hear(fd, until_ms, e);
	if (r == 0 && pipe2(started, O_CLOEXEC) < 0)
		r = err_set(e, errno, "pipe");
	if (r < 0)
		return r;

	const int fds[CALL_FDS] = { stdio[0], stdio[1], stdio[2], started[1] };

	r = fd_passing_send(fd, &h, sizeof(h), fds, CALL_FDS);
	(void)close(started[1]);
	if (r < 0)
		r = fd_passing_failed(-r, "talk to the jail's helper", e);
	else
		r = send_words(fd, words, count, until_ms, e);
	if (r == 0)
		r = await(started[0], POLLIN, until_ms, e);
	n = r < 0 ? r : read(started[0], &why, 1);
	(void)close(started[0]);
	if (n == 1)
		return err_set(e, why, "%.200s", words[1]);
	if (r == 0)
		r = hear(fd, until_ms, e);
	return r < 0 ? r : io_steal_fd(&fd);
}

#define WATCHED 3 /* the fd of the connection by then */

static void pass_on(int signal)
{
	char byte = (char)signal;

	(void)!write(WATCHED, &byte, 1);
}

_Noreturn void call_watch(int connection)
{
	const struct sigaction passed = { .sa_handler = pass_on, .sa_flags = SA_RESTART };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	uint32_t told;
	/* what the kernel says of this process */
	static const char own[] = { SIGCHLD, SIGPIPE, SIGSEGV, SIGBUS, SIGILL,
				    SIGFPE,  SIGTRAP, SIGABRT, SIGSYS, 0 };
	sigset_t none;
	int wstatus;

	(void)sigemptyset(&none);
	for (int i = 1; i < NSIG; i++)
		if (!strchr(own, i))
			(void)sigaction(i, &passed, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	for (int fd = 0; fd <= 2; fd++)
		(void)dup2(null, fd);
	/* before it reads what a jail says */
	if (dup2(connection, WATCHED) < 0 || close_range(WATCHED + 1U, ~0U, 0) < 0 ||
	    sigprocmask(SIG_SETMASK, &none, NULL) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) < 0 ||
	    filter_load(filter_caller, COUNT(filter_caller)) < 0)
		_exit(STATUS_FAILED);
	if (read(WATCHED, &told, sizeof(told)) != sizeof(told))
		told = SIGKILL; /* its jail has ended */
	wstatus = (int)told;
	(void)syscall(SYS_exit, WIFSIGNALED(wstatus) ? 128 + WTERMSIG(wstatus)
						     : WEXITSTATUS(wstatus));
	__builtin_trap();
}
