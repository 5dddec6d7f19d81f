/* SPDX-License-Identifier: MIT */
/*
 * syscalls.c - what a watcher may still do once it is confined, and, with COPIER, what
 * the copier of --out may
 *
 * These rows are their own; see confined_syscalls.h for those that they share with the
 * supervisor of `serve`, and for what is excluded from all.
 *
 * Knowingly excluded from a watcher beside that: every call that takes a path, open and
 * its kin, so that no Landlock is needed for it; pidfd_open; socketpair; fcntl but for
 * F_GETFL. The copier's calls take paths: Landlock says which.
 */
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <linux/seccomp.h>

#include "init/filter.h"

#ifdef COPIER
const char filter_name[] = "filter_copier";
#else
const char filter_name[] = "filter_watcher";
#endif

const struct filter_row filter_rows[] = {
#include "jail/watch/confined_syscalls.h"

#ifdef COPIER
	{ "openat", ARG_CLEAR, 3, 07111, "files and folders, none made to be executed" },
	{ "getdents64", ALWAYS, 0, 0, "names in a folder" },
	{ "fcntl", ARG_EQ, 1, F_SETFD, "close-on-exec, of a list" },
	{ "newfstatat", ALWAYS, 0, 0, "file, folder or neither?" },
	{ "mkdirat", ARG_CLEAR, 2, 07000, "a folder of the copy" },
	{ "renameat2", ALWAYS, 0, 0, "a file that is whole gets its name" },
	{ "linkat", ALWAYS, 0, 0, "the same, where the file system knows no flags" },
	{ "unlinkat", ALWAYS, 0, 0, "a file that is not whole is removed" },
#else
	{ "ftruncate", ALWAYS, 0, 0, "give back what was reserved behind the report" },
	{ "wait4", ALWAYS, 0, 0, "the ends of init and of the keeper" },
	{ "rt_sigprocmask", ALWAYS, 0, 0,
	  "signals end it again while output is delivered" },
	{ "rt_sigreturn", ALWAYS, 0, 0, "the kernel's own return path" },
	{ "getpid", ALWAYS, 0, 0, "itself" },
	{ "exit", ALWAYS, 0, 0, "its end, on libc's choice" },
#endif
};

const size_t filter_row_count = COUNT(filter_rows);
