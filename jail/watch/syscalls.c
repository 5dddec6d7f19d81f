/* SPDX-License-Identifier: MIT */
/*
 * syscalls.c - what a watcher may still do once it is confined
 *
 * These rows are its own; see confined_syscalls.h for those that it shares with the
 * supervisor of `serve`, and for what is excluded from both.
 *
 * Knowingly excluded beside that: every call that takes a path, open and its kin, so that
 * no Landlock is needed for it; pidfd_open; socketpair; fcntl but for F_GETFL.
 */
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <linux/seccomp.h>

#include "init/filter.h"

const char filter_name[] = "filter_watcher";

const struct filter_row filter_rows[] = {
#include "jail/watch/confined_syscalls.h"

	{ "ftruncate", ALWAYS, 0, 0, "give back what was reserved behind the report" },
	{ "wait4", ALWAYS, 0, 0, "the ends of init and of the keeper" },
	{ "rt_sigprocmask", ALWAYS, 0, 0,
	  "signals end it again while output is delivered" },
	{ "rt_sigreturn", ALWAYS, 0, 0, "the kernel's own return path" },
	{ "getpid", ALWAYS, 0, 0, "itself" },
	{ "exit", ALWAYS, 0, 0, "its end, on libc's choice" },
};

const size_t filter_row_count = COUNT(filter_rows);
