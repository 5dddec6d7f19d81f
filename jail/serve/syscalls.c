/* SPDX-License-Identifier: MIT */
/*
 * syscalls.c - what the supervisor of `serve` may still do once it is confined, and, with
 * MEASURER, what a measurer may
 *
 * These rows are its own; see jail/watch/confined_syscalls.h for those that it shares
 * with the watcher of `run`, and for what is excluded from both.
 *
 * A path can be opened, but only from the root directory, and that is a procfs that is
 * read-only and shows the processes of jails alone; so no Landlock is needed for it. The
 * spawner signals; socketpair makes no name.
 *
 * A measurer has capabilities, with which it could open /proc/PID/mem of any process
 * there: it has no call that reads anywhere but from a file's beginning on. It opens
 * files for reading alone.
 */
#include <fcntl.h>
#include <linux/kcmp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <linux/seccomp.h>

#include "jail/serve/wire/channel.h"
#include "jail/serve/supervisor.h"

#ifdef MEASURER
const char filter_name[] = "filter_measurer";
#else
const char filter_name[] = "filter_supervisor";
#endif

const struct filter_row filter_rows[] = {
#include "jail/watch/confined_syscalls.h"

	{ "fcntl", ARG_EQ, 1, F_SETFD, "close-on-exec, of stdio" },
	{ "getdents64", ALWAYS, 0, 0, "threads of a process" },
#ifdef MEASURER
	{ "openat", ARG_CLEAR, 2, O_ACCMODE | O_CREAT | O_TRUNC, "files of procfs" },
	{ "newfstatat", ALWAYS, 0, 0, "how many threads has a process?" },
	{ "faccessat", ALWAYS, 0, 0, "is a process there still?" },
	{ "kcmp", ARG_EQ, 2, KCMP_VM, "has a process the memory of its parent?" },
#else
	/* on fds that it has */
	{ "pwrite64", ALWAYS, 0, 0, "sources and files, into memfds" },
	{ "fchmod", ALWAYS, 0, 0, "a pipe's end is for one direction" },
	{ "fcntl", ARG_EQ, 1, F_SETFL, "pipes do not block" },
	{ "fcntl", ARG_EQ, 1, F_ADD_SEALS, "a source does not change any more" },
	{ "setsockopt", ARG_EQ, 2, SO_PASSCRED, "a channel tells who sends" },
	{ "setsockopt", ARG_EQ, 2, SO_PASSRIGHTS, "a channel takes no fds" },

	/* fds that it makes */
	{ "socketpair", ARG_EQ, 0, AF_UNIX, "a channel to a step" },
	{ "pipe2", ALWAYS, 0, 0, "stdin and output of a step" },
	{ "memfd_create", ALWAYS, 0, 0, "a source, a file" },
	{ "pidfd_open", ALWAYS, 0, 0, "whom a signal is asked for" },
	{ "openat", ARG_EQ, 0, SUPERVISOR_ROOT, "files of procfs" },
	{ "newfstatat", ARG_EQ, 0, SUPERVISOR_ROOT, "how many threads has a process?" },
	{ "faccessat", ARG_EQ, 0, SUPERVISOR_ROOT, "is a process there still?" },

	/* waits */
	{ "epoll_create1", ALWAYS, 0, 0, "the event loop" },
	{ "epoll_ctl", ALWAYS, 0, 0, "the event loop" },
	{ "epoll_pwait", ALWAYS, 0, 0, "the same, on libc's choice" },
	{ "clock_getres", ALWAYS, 0, 0, "has a process a CPU clock?" },
#endif
};

const size_t filter_row_count = COUNT(filter_rows);
