/* SPDX-License-Identifier: MIT */
/*
 * cancel.c - signals that end the launcher: see cancel.h
 */
#include <stddef.h>
#include <sys/signalfd.h>

#include "jail/base/cancel.h"

sigset_t cancel_signals(void)
{
	static const int rows[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	sigset_t set;

	(void)sigemptyset(&set);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct sigaction now;

		if (sigaction(rows[i], NULL, &now) < 0 || now.sa_handler != SIG_IGN)
			(void)sigaddset(&set, rows[i]);
	}
	return set;
}

int cancel_open(int *fd, struct err *e)
{
	sigset_t all, wanted = cancel_signals();

	(void)sigfillset(&all);
	/* with an ignored SIGCHLD the kernel would reap the jail, and its status is lost
	 * */
	(void)signal(SIGCHLD, SIG_DFL);
	(void)sigdelset(&all, SIGTSTP);
	(void)sigdelset(&all, SIGCONT);
	if (sigprocmask(SIG_SETMASK, &all, NULL) < 0)
		return err_set(e, errno, "stepjail: block signals");
	*fd = signalfd(-1, &wanted, SFD_CLOEXEC);
	return *fd < 0 ? err_set(e, errno, "stepjail: signalfd") : 0;
}
