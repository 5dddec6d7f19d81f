/* SPDX-License-Identifier: MIT */
/*
 * init.c - stepjail-init: PID 1 of every jail
 *
 * Theory of operation
 *   The launcher's child becomes PID 1, makes the program's process, and executes this
 *   file with all signals blocked, no capability, no environment and two fds (init.h).
 *   The program's process waits, all its walls up, until the launcher has heard READY
 *   from it and from init, and says GO. One loop here then serves
 *     - the control socket, on which only init sends. End of file tells that the launcher
 *       has ended, and then init exits
 *     - SIGCHLD by signalfd: every child is reaped. The program's end is sent as EXIT,
 *       and in a session (see init.h) that of every process, and each stop and its end
 *   When init exits, for whatever reason, the kernel kills every process of the PID
 *   namespace: that, and no handler, is the clean-up. See pid_namespaces(7).
 */
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "init/filter.h"
#include "init/init.h"
#include "init/wire.h"

#include "filter_init.h"

/* Nobody reads init's exit status but the launcher, and it only asks for zero or not. */
enum { STATUS_DONE = 0, STATUS_LAUNCHER_GONE = 1, STATUS_FAILED = 2 };

#define HELPER_MS 1000
#define HELPER_TRIES 16 /* ends of other processes */

static uint64_t time_us(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_usec;
}

/* @step: in a session, the pid of the process that ended; else 0 */
static int send_exit(pid_t step, int wstatus, const struct rusage *used, bool strays)
{
	struct wire_exit end = {
		.wstatus = (uint32_t)wstatus,
		.strays = strays,
		.user_us = time_us(used->ru_utime),
		.system_us = time_us(used->ru_stime),
		.max_rss_bytes = (uint64_t)used->ru_maxrss * 1024,
	};

	return wire_send(INIT_FD_CONTROL, WIRE_EXIT, (uint32_t)step, &end, sizeof(end));
}

/* It ends when the program has, and is nothing that the program left behind; unless the
 * program has stopped it. */
static void await_helper(int signals)
{
	struct signalfd_siginfo info;
	struct pollfd more = { .fd = signals, .events = POLLIN };

	for (int i = 0;
	     i < HELPER_TRIES && wait4(INIT_HELPER_PID, NULL, WNOHANG, NULL) == 0 &&
	     poll(&more, 1, HELPER_MS) > 0;
	     i++)
		(void)!read(signals, &info, sizeof(info));
}

/*
 * Reap everything that has ended. In a session the launcher knows which pid is a state, a
 * step, or left behind by a step, and is told of each, also when all of its threads have
 * stopped, and when they go on. Otherwise it is told of the
 * program: if that left processes behind, init stays until the launcher has counted them
 * and ends it; else there is nothing to stay for.
 */
static void reap(int signals, bool session, bool helper)
{
	struct rusage used, program_used = { 0 };
	int wstatus, program_wstatus = 0;
	bool program_ended = false;
	int stops = session ? WUNTRACED | WCONTINUED : 0;
	pid_t pid;

	while ((pid = wait4(-1, &wstatus, WNOHANG | stops, &used)) > 0) {
		if (session && send_exit(pid, wstatus, &used, false) < 0)
			_exit(STATUS_LAUNCHER_GONE);
		if (session || pid != INIT_PROGRAM_PID)
			continue;
		program_ended = true;
		program_wstatus = wstatus;
		program_used = used;
	}
	if (!program_ended)
		return;
	if (helper)
		await_helper(signals);

	/* this asks for any process but init; a refusal, too, says that there is one */
	bool strays = kill(-1, 0) == 0 || errno != ESRCH;

	if (send_exit(0, program_wstatus, &program_used, strays) < 0)
		_exit(STATUS_LAUNCHER_GONE);
	if (!strays)
		_exit(STATUS_DONE);
}

static int loop(int signals, bool session, bool helper)
{
	struct pollfd fds[] = {
		{ .fd = INIT_FD_CONTROL, .events = POLLIN },
		{ .fd = signals, .events = POLLIN },
	};

	for (;;) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return STATUS_FAILED;
		if (fds[1].revents) {
			struct signalfd_siginfo info;

			/* one SIGCHLD may stand for many children: ask for all */
			if (read(signals, &info, sizeof(info)) < 0 && errno != EINTR)
				return STATUS_FAILED;
			reap(signals, session, helper);
		}
		/* end of file; or bytes, which the launcher never sends now */
		if (fds[0].revents)
			return STATUS_LAUNCHER_GONE;
	}
}

int main(int argc, char **argv)
{
	sigset_t all, child;

	(void)sigfillset(&all);
	/* exec made init dumpable again: the program could read and trace it; nor must
	 * init hold the program's stdin, stdout and stderr open */
	if (sigprocmask(SIG_BLOCK, &all, NULL) < 0 || prctl(PR_SET_DUMPABLE, 0UL) < 0 ||
	    syscall(SYS_close_range, 0U, INIT_FD_CONTROL - 1U, 0U) < 0)
		return STATUS_FAILED;
	(void)prctl(PR_SET_NAME, "stepjail-init");

	(void)sigemptyset(&child);
	(void)sigaddset(&child, SIGCHLD);

	int signals = signalfd(-1, &child, SFD_CLOEXEC);

	if (signals < 0 || filter_load(filter_init, COUNT(filter_init)) < 0)
		return STATUS_FAILED;
	if (wire_send(INIT_FD_CONTROL, WIRE_READY, 0, NULL, 0) < 0)
		return STATUS_LAUNCHER_GONE;
	return loop(signals, argc > 1 && argv[1][0] == INIT_SESSION[0],
		    argc > 1 && argv[1][0] == INIT_HELPER[0]);
}
