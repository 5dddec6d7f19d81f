/* SPDX-License-Identifier: MIT */
/*
 * call.c - the caller's end of a helper's socket: see call.h
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "init/filter.h"
#include "init/io.h"
#include "jail/base/fd_passing.h"
#include "jail/helper/call.h"

#include "filter_caller.h"

#define STATUS_FAILED 125

static int connect_to(int folder, const char *name, struct err *e)
{
	const struct sockaddr_un at = helper_address(folder, name);
	cleanup_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (const struct sockaddr *)&at, sizeof(at)) < 0)
		return err_set(e, errno, "connect to the jail's helper");
	return io_steal_fd(&fd);
}

static int send_words(int to, char *const *words, size_t count, struct err *e)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++)
		r = io_write_all(to, words[i], strlen(words[i]) + 1);
	return r < 0 ? err_set(e, -r, "talk to the jail's helper") : 0;
}

int call_begin(int folder, const char *name, char *const *words, size_t count,
	       size_t args, const int stdio[3], struct err *e)
{
	struct call_head h = { .args = (uint32_t)args,
			       .env = (uint32_t)(count - args - 1) };
	int started[2], r;
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
	if (pipe2(started, O_CLOEXEC) < 0)
		return err_set(e, errno, "pipe");

	const int fds[CALL_FDS] = { stdio[0], stdio[1], stdio[2], started[1] };

	r = fd_passing_send(fd, &h, sizeof(h), fds, CALL_FDS);
	(void)close(started[1]);
	if (r < 0)
		r = fd_passing_failed(-r, "talk to the jail's helper", e);
	else
		r = send_words(fd, words, count, e);
	n = r < 0 ? r : read(started[0], &why, 1);
	(void)close(started[0]);
	if (n == 1)
		return err_set(e, why, "%.200s", words[1]);
	if (r == 0 && recv(fd, &why, 1, 0) != 1)
		return err_say(
			e, EPROTO,
			"the jail's helper has not started it: it was ended, or has no --files left");
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
