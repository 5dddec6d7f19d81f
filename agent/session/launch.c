/* SPDX-License-Identifier: MIT */
/*
 * launch.c - start stepjail, and see it end: see launch.h
 */
#include <limits.h>
#include <poll.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "agent/base/memory.h"
#include "agent/base/units.h"
#include "agent/session/launch.h"
#include "init/io.h"

#define LEAST_GRACE_MS 1000

void launch_add(struct launch_args *a, const char *fmt, ...)
{
	va_list ap;

	if (a->count == LAUNCH_ARGS_MAX) {
		a->failed = E2BIG;
		return;
	}
	va_start(ap, fmt);
	a->list[a->count++] = memory_vprintf(fmt, ap);
	a->list[a->count] = NULL;
	va_end(ap);
}

void launch_args_free(struct launch_args *a)
{
	for (size_t i = 0; i < a->count; i++)
		free(a->list[i]);
	*a = (struct launch_args){ .count = 0 };
}

int launch_find(const char *given, struct text *path, struct err *e)
{
	char self[PATH_MAX] = "";
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const char *slash = n > 0 ? strrchr(self, '/') : NULL;

	if (given)
		text_puts(path, given);
	else if (slash)
		text_printf(path, "%.*s/stepjail", (int)(slash - self), self);
	return access(text_string(path), X_OK) < 0
		       ? err_set(e, errno, "%s: give the program by --stepjail",
				 text_string(path))
		       : 0;
}

/* one line of code for each thing the child must not inherit */
void launch_become(const char *path, char *const *argv, const int fds[LAUNCH_FDS],
		   const struct stop *stop, pid_t parent, int status_fd)
{
	const char *home = getenv("HOME"), *config = getenv("XDG_CONFIG_HOME");
	int high[LAUNCH_FDS];

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(125);
	(void)setsid();
	(void)signal(SIGPIPE, SIG_DFL);
	(void)signal(SIGXFSZ, SIG_DFL);
	(void)sigprocmask(SIG_SETMASK, &stop->before, NULL);

	/* out of the way first: a source may be one of the targets */
	int status = fcntl(status_fd, F_DUPFD_CLOEXEC, 16);

	for (int i = 0; i < LAUNCH_FDS; i++)
		high[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 16);
	for (int i = 0; i < LAUNCH_FDS; i++)
		if (high[i] < 0 || dup2(high[i], i) < 0)
			goto fail;
	if (close_range(LAUNCH_FDS, ~0U, CLOSE_RANGE_CLOEXEC) < 0)
		goto fail;
	/* by these stepjail finds the user's file of defaults; it gets nothing else */
	if (clearenv() != 0 || (home && setenv("HOME", home, 1) < 0) ||
	    (config && setenv("XDG_CONFIG_HOME", config, 1) < 0))
		goto fail;
	(void)execv(path, argv);
fail:;
	int errnum = errno;

	(void)!write(status, &errnum, sizeof(errnum));
	_exit(125);
}

/* true once it has ended, which leaves it to be waited for */
static bool ended_within(const struct child *c, uint64_t ms)
{
	uint64_t deadline_ms = units_now_ms() + ms;
	struct pollfd p = { .fd = c->pidfd, .events = POLLIN };

	do {
		if (poll(&p, 1, units_poll_ms(deadline_ms)) > 0)
			return true;
	} while (units_left_ms(deadline_ms));
	return false;
}

int launch_end(struct child *c, uint64_t patience_ms)
{
	int status = 0;

	if (c->pid <= 0)
		return -ECHILD;
	if (c->pidfd < 0) {
		(void)kill(c->pid, SIGKILL);
	} else if (!ended_within(c, patience_ms)) {
		/* by pidfd: a confined agent may signal by nothing else */
		(void)pidfd_send_signal(c->pidfd, SIGTERM, NULL, 0);
		if (!ended_within(c, patience_ms > LEAST_GRACE_MS ? patience_ms
								  : LEAST_GRACE_MS))
			(void)pidfd_send_signal(c->pidfd, SIGKILL, NULL, 0);
	}
	while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
		continue;
	io_close_fd(&c->pidfd);
	c->pid = 0;
	return status;
}
