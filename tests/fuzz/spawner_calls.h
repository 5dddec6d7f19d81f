/* SPDX-License-Identifier: MIT */
/*
 * spawner_calls.h - for the fuzzer of the spawner: what it calls the kernel for is looked
 * at
 *
 * No call may wait, no path is but one of a few, and a signal goes to no process but of
 * the jail that was named. A PID namespace is one by the number of a played process. Link
 * with
 * --wrap of each name here.
 */
#pragma once

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "init/io.h"
#include "jail/base/clock.h"
#include "jail/base/event_loop.h"
#include "jail/base/fd_passing.h"
#include "jail/base/procfs.h"
#include "jail/launch/posture.h"
#include "jail/plan/option.h"
#include "jail/serve/spawner/measurer.h"
#include "jail/serve/wire/spawn.h"
#include "jail/serve/spawner/spawned.h"
#include "jail/serve/spawner/spawner.h"
#include "jail/serve/template/template.h"
#include "jail/watch/proc_usage.h"
#include "jail/out/tmpfs_usage.h"
#include "tests/fuzz/fuzz.h"

#define PROCESSES 4
#define JAILS_MAX 512
#define TEMPLATES_MAX 16
#define SUPERVISOR 0x7ffffffe /* a pid that nobody has */

/* a jail's inner ends; it has one of the processes */
static struct played {
	const struct jail *jail;
	int control, gate, process, end;
	bool killed;
} jails[JAILS_MAX];

static struct {
	struct template *t;
	uint8_t says;
} templates[TEMPLATES_MAX];

static pid_t process[PROCESSES];
static int dead; /* pidfd of a process that has ended */
static struct plan plan, plan_before;
static struct parts parts, parts_before;
static struct event_loop *loop;
static const uint8_t *input;
static size_t left;
static int supervisor, spawner, signals, signals_in; /* sockets; -1: closed */
static struct spawn_request asked;                   /* the last one */
static int beside[2];                                /* what was peeked last */
static int launched, launch_errnum, turns;
static uint64_t now_ms;
static bool watching, prompt, peeked;

static void no_wait(int fd, short events, int flags)
{
	struct pollfd there = { .fd = fd, .events = events };
	extern int __real_poll(struct pollfd * fds, nfds_t count, int timeout);

	/* what comes from the supervisor, by the call's own flag: that of the socket is
	 * every copy's */
	HOLDS(!watching || fd != spawner || events != POLLIN || (flags & MSG_DONTWAIT));
	if (watching && !(flags & MSG_DONTWAIT) && !(fcntl(fd, F_GETFL) & O_NONBLOCK))
		HOLDS(__real_poll(&there, 1, 0) == 1);
}

int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout)
{
	extern int __real_poll(struct pollfd * fds, nfds_t count, int timeout);

	HOLDS(!watching || timeout == 0);
	return __real_poll(fds, count, timeout);
}

int __real_epoll_wait(int epoll, struct epoll_event *got, int most, int timeout);
int __wrap_epoll_wait(int epoll, struct epoll_event *got, int most, int timeout);
int __wrap_epoll_wait(int epoll, struct epoll_event *got, int most, int timeout)
{
	HOLDS(!watching || timeout == 0);
	return __real_epoll_wait(epoll, got, most, timeout);
}

static bool is_pidfd(int fd)
{
	return procfs_held(fd) != -EBADF;
}

ssize_t __real_recvmsg(int fd, struct msghdr *msg, int flags);
ssize_t __wrap_recvmsg(int fd, struct msghdr *msg, int flags);
ssize_t __wrap_recvmsg(int fd, struct msghdr *msg, int flags)
{
	size_t room = msg->msg_controllen;
	ssize_t n;

	no_wait(fd, POLLIN, flags);
	n = __real_recvmsg(fd, msg, flags);
	if (!watching || n < 0 || !(flags & MSG_PEEK) || fd != spawner || room == 0)
		return n;
	peeked = true;
	memcpy(&asked, msg->msg_iov->iov_base, sizeof(asked));
	beside[0] = beside[1] = -1;
	for (struct cmsghdr *c = NULL; (c = fd_passing_next(msg, c));) {
		size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		HOLDS(count <= 2);
		memcpy(beside, CMSG_DATA(c), count * sizeof(int));
	}
	return n;
}

ssize_t __real_recv(int fd, void *bytes, size_t length, int flags);
ssize_t __wrap_recv(int fd, void *bytes, size_t length, int flags);
ssize_t __wrap_recv(int fd, void *bytes, size_t length, int flags)
{
	no_wait(fd, POLLIN, flags);
	/* no packet is taken that was not obeyed */
	HOLDS(!watching || fd != spawner || peeked);
	peeked = peeked && fd != spawner;
	return __real_recv(fd, bytes, length, flags);
}

ssize_t __real_read(int fd, void *bytes, size_t length);
ssize_t __wrap_read(int fd, void *bytes, size_t length);
ssize_t __wrap_read(int fd, void *bytes, size_t length)
{
	no_wait(fd, POLLIN, 0);
	return __real_read(fd, bytes, length);
}

ssize_t __real_sendmsg(int fd, const struct msghdr *msg, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *msg, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *msg, int flags)
{
	no_wait(fd, POLLOUT, flags);
	return __real_sendmsg(fd, msg, flags);
}

/* the last close of what is no pidfd may take long */
int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
	if (watching && fd >= 0 && (fd == beside[0] || fd == beside[1])) {
		HOLDS(is_pidfd(fd));
		beside[fd == beside[1]] = -1;
	}
	return __real_close(fd);
}

static void known_path(const char *path)
{
	static const char *const known[] = { "/proc/self/oom_score_adj", "oom_score_adj",
					     "ns/pid", "task" };
	char rest;
	int pid;

	if (!watching)
		return;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(path, known[i]) == 0)
			return;
	if (sscanf(path, "/proc/%d%c", &pid, &rest) != 1 &&
	    sscanf(path, "%d%c", &pid, &rest) != 1)
		HOLDS(sscanf(path, "fdinfo/%d%c", &pid, &rest) == 1 ||
		      sscanf(path, "%d/ns/pid%c", &pid, &rest) == 1);
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
	known_path(path);
	HOLDS(!watching || !(flags & O_CREAT));
	return __real_open(path, flags, 0600);
}

int __real_openat(int dir, const char *path, int flags, ...);
int __wrap_openat(int dir, const char *path, int flags, ...);
int __wrap_openat(int dir, const char *path, int flags, ...)
{
	known_path(path);
	HOLDS(!watching || !(flags & O_CREAT));
	return __real_openat(dir, path, flags, 0600);
}

/* the process of a folder in /proc, by its place in process[], or -1 */
static int process_of(int dir)
{
	char link[32], path[64];
	ssize_t n;
	int pid;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", dir);
	n = readlink(link, path, sizeof(path) - 1);
	HOLDS(n > 0);
	path[n] = '\0';
	HOLDS(sscanf(path, "/proc/%d", &pid) == 1);
	for (int i = 0; i < PROCESSES; i++)
		if (process[i] == pid)
			return i;
	return -1;
}

int __real_fstatat(int dir, const char *path, struct stat *st, int flags);
int __wrap_fstatat(int dir, const char *path, struct stat *st, int flags);
int __wrap_fstatat(int dir, const char *path, struct stat *st, int flags)
{
	int r;

	known_path(path);
	r = __real_fstatat(dir, path, st, flags);
	if (watching && r == 0)
		st->st_ino = (ino_t)(1000 + process_of(dir));
	return r;
}

/* is it a process of the jail that the request named? A process is another jail's later
 * on, as the number of a PID namespace may be */
static bool is_asked(pid_t pid)
{
	for (int i = 0; i < launched; i++) {
		const char *at = (const char *)jails[i].jail;

		if (at && process[jails[i].process] == pid &&
		    ((const struct spawned *)(at - offsetof(struct spawned, up.jail)))
				    ->number == asked.number)
			return true;
	}
	return false;
}

/* none that is made here has more words */
long __real_syscall(long number, long a, long b, long c, long d);
long __wrap_syscall(long number, long a, long b, long c, long d);
long __wrap_syscall(long number, long a, long b, long c, long d)
{
	if (watching && number == SYS_pidfd_send_signal) {
		HOLDS(is_asked(procfs_held((int)a)));
		HOLDS(b == SIGINT || b == SIGKILL);
		return 0;
	}
	if (watching && number == SYS_openat2)
		known_path((const char *)b);
	else
		HOLDS(!watching || number == SYS_pidfd_open);
	return __real_syscall(number, a, b, c, d);
}

/* the supervisor, at the end, and nobody else */
int __real_kill(pid_t pid, int signal);
int __wrap_kill(pid_t pid, int signal);
int __wrap_kill(pid_t pid, int signal)
{
	if (!watching)
		return __real_kill(pid, signal);
	HOLDS(pid == SUPERVISOR && signal == SIGKILL);
	return 0;
}

pid_t __real_waitpid(pid_t pid, int *status, int options);
pid_t __wrap_waitpid(pid_t pid, int *status, int options);
pid_t __wrap_waitpid(pid_t pid, int *status, int options)
{
	if (!watching)
		return __real_waitpid(pid, status, options);
	HOLDS(pid == SUPERVISOR);
	*status = 0;
	return pid;
}

uint64_t __wrap_clock_now_ms(void);
uint64_t __wrap_clock_now_ms(void)
{
	return now_ms;
}
