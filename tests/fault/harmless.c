/* SPDX-License-Identifier: MIT */
/*
 * harmless.c - calls that may fail without any effect, each with the reason
 *
 * A run that goes on as if nothing had happened after a failed call is a breach, unless a
 * row here says why that is right.
 */
#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#include "tests/fault/fault.h"

#define ANY 0
enum { WHENEVER, BEFORE, AFTER }; /* the program's exec */

static const struct {
	const char *who, *name, *detail; /* patterns of fnmatch(3) */
	int errnum;
	int when;
	const char *why;
} rows[] = {
	{ "*", "close", "*", ANY, WHENEVER, "the fd is gone all the same" },
	{ "*", "munmap", "*", ANY, WHENEVER, "the memory stays until the process ends" },
	{ "*", "brk", "*", ANY, WHENEVER, "libc's malloc maps memory instead" },
	{ "*", "mmap", "*", ANY, BEFORE, "libc's malloc guards its first pages, or not" },
	{ "*", "fcntl", "* 0x2", ANY, WHENEVER,
	  "libc sets close-on-exec again behind an open() that has set it" },
	{ "*", "dup2", "*", EBUSY, WHENEVER, "libc tries again" },
	{ "*", "rt_sigprocmask", " 0*", ANY, BEFORE,
	  "libc blocks signals around fork() and setresuid(): they are blocked already" },
	{ "0.1*", "rt_sigprocmask", " 0x2", ANY, BEFORE,
	  "libc restores a mask in which everything is blocked already" },

	/* tried again */
	{ "*", "read", "*", EINTR, WHENEVER, "read again" },
	{ "*", "write", "*/report", EINTR, WHENEVER, "written again" },
	{ "*", "sendmsg", "*", EINTR, WHENEVER, "sent again" },
	{ "*", "poll", "*", EINTR, WHENEVER, "polled again" },
	{ "*", "wait4", "*", EINTR, WHENEVER, "waited again" },
	{ "0", "fcntl", " /run/stepjail/ids 0x25", EAGAIN, BEFORE,
	  "another slot is tried" },
	{ "0", "fcntl", " /run/stepjail/ids 0x25", EACCES, BEFORE,
	  "another slot is tried" },

	/* a second way, or nothing that matters */
	{ "0", "writev", "*", ANY, BEFORE,
	  "a warning is lost; the report tells the same" },
	{ "0", "open", " /sys/fs/cgroup", ANY, BEFORE,
	  "--allow-missing cgroup was given" },
	{ "0", "fstatfs", " /sys/fs/cgroup", ANY, BEFORE,
	  "--allow-missing cgroup was given" },
	{ "0", "stat", " /proc/self/exe", ANY, BEFORE,
	  "init is trusted for its owner, if not for the launcher's" },
	{ "0", "fstat", "*/report", ANY, BEFORE, "no space is reserved for the report" },
	{ "0", "fallocate", "*", EOPNOTSUPP, BEFORE,
	  "no space is reserved for the report" },
	{ "0", "landlock_create_ruleset", "*", ENOSYS, BEFORE,
	  "as a kernel without Landlock answers; the report says so" },
	{ "0", "landlock_create_ruleset", "*", EOPNOTSUPP, BEFORE,
	  "as a kernel without Landlock answers; the report says so" },
	{ "0.1", "newfstatat", "*", ANY, BEFORE,
	  "the mount point is made, which fails where something is" },
	{ "0.1", "prctl", " 0xf", ANY, BEFORE, "PR_SET_NAME: a name for ps" },
	{ "0.1", "prctl", " 0x18", EINVAL, BEFORE,
	  "the end of the bounding set; posture.c looks whether it was" },
	{ "0.1.1", "execve", " /nowhere/*", ANY, BEFORE,
	  "the next folder of PATH is tried" },

	/* asked with arguments that none takes: only "not there", or refused, is an answer */
	{ "0", "seccomp", " 0xffffffff", ANY, BEFORE, "host.c asks whether it is there" },
	{ "0", "pidfd_send_signal", "*", ANY, BEFORE, "host.c asks whether it is there" },
	{ "0", "fsopen", "*", ANY, BEFORE, "host.c asks whether it is there" },
	{ "0", "open_tree", " ", ANY, BEFORE, "host.c asks whether it is there" },
	{ "0", "move_mount", "*", ANY, BEFORE, "host.c asks whether it is there" },
	{ "0", "clone3", "*", ANY, BEFORE, "host.c asks whether it is there" },
	{ "0", "openat2", " ", ANY, BEFORE, "host.c asks whether it is there" },
	{ "0", "close_range", "*", ANY, BEFORE, "host.c asks whether it is there" },
	{ "0", "mount_setattr", " -1", ANY, BEFORE, "host.c asks whether it is there" },
	{ "0", "open_tree", " /*", EPERM, BEFORE,
	  "root of a container: the jail's child clones the trees" },
	{ "0", "mount_setattr", " /*", EPERM, BEFORE,
	  "root of a container: the jail's child clones the trees" },

	/* what the launcher reads back before it opens the gate */
	{ "0", "openat", "* /proc/N/*", ANY, BEFORE, "the report says: posture null" },
	{ "0", "read", " /proc/N/*", ANY, BEFORE, "the report says: posture null" },

	/* the cgroup leaf */
	{ "0", "openat", " /sys/fs/cgroup* cgroup.subtree_control", ANY, BEFORE,
	  "controllers that seem to be off are turned on once more" },
	{ "0", "read", " /sys/fs/cgroup*/cgroup.subtree_control", ANY, BEFORE,
	  "controllers that seem to be off are turned on once more" },
	{ "0", "mkdirat", " /sys/fs/cgroup stepjail", EEXIST, BEFORE,
	  "another one made it" },
	{ "0", "openat", "*/run-N-N memory.swap.max", ENOENT, BEFORE,
	  "as a kernel built without swap answers" },
	{ "0", "openat", "*/run-N-N cpu.stat", ANY, BEFORE,
	  "the set-up's CPU time counts as the program's" },
	{ "0", "read", "*/run-N-N/cpu.stat", ANY, BEFORE,
	  "the set-up's CPU time counts as the program's" },
	{ "0", "openat", "*/run-N-N *", ANY, AFTER, "the report says null, or at least" },
	{ "0", "read", "*/run-N-N/*", ANY, AFTER, "the report says null, or at least" },
	{ "0", "write", "*/run-N-N/cgroup.kill", ANY, AFTER, "init is killed as well" },
	{ "0", "unlinkat", "*", EBUSY, AFTER, "tried again" },
	{ "sweeper", "*", "*", ANY, WHENEVER,
	  "the sweeper: it acts only where the launcher has died" },

	/* while it runs and ends */
	{ "0", "sched_getaffinity", "*", ANY, AFTER,
	  "the next look at CPU time is later" },
	{ "0.1", "poll", "*", ENOMEM, AFTER,
	  "init ends, having told of the program's end: with no strays it would have "
	  "anyway" },
	{ "0.1", "kill", "*", ANY, AFTER,
	  "init stays, and the launcher looks for strays" },
	{ "0", "pidfd_send_signal", "*", ANY, AFTER,
	  "init ends with the control socket, and the jail with it" },
	{ "0", "open", " /proc/N/task*", ANY, AFTER, "the next sample is 50 ms away" },
	{ "0", "open", " /proc/N", ANY, AFTER, "the next sample is 50 ms away" },
	{ "0", "fstatfs", " /proc/N", ANY, AFTER, "the next sample is 50 ms away" },
	{ "0", "readlink", " /proc/self", ANY, AFTER, "the next sample is 50 ms away" },
	{ "0", "openat2", " stat*", ANY, AFTER, "the next sample is 50 ms away" },
	{ "0", "read", " /proc/N/*", ANY, AFTER, "the next sample is 50 ms away" },
	{ "0", "getdents64", " /proc/N/task", ANY, AFTER,
	  "the next sample is 50 ms away" },
	{ "0", "fstat", " /proc/N/task", ANY, AFTER, "the next sample is 50 ms away" },
	{ "0", "mmap", "*", ANY, AFTER, "the next sample is 50 ms away" },
};

const char *call_harmless(const struct call *call, int errnum)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (fnmatch(rows[i].who, call->who, 0) == 0 &&
		    fnmatch(rows[i].name, call_name(call->nr), 0) == 0 &&
		    fnmatch(rows[i].detail, call->detail, 0) == 0 &&
		    (rows[i].errnum == ANY || rows[i].errnum == errnum) &&
		    (rows[i].when == WHENEVER || (rows[i].when == AFTER) == call->late))
			return rows[i].why;
	return NULL;
}
