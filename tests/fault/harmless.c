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
	{ "*", "madvise", "*", ANY, WHENEVER, "libc gives memory back, or not" },
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
	{ "0", "write", " pipe:*", EINTR, AFTER, "written again" },
	{ "0.1.1", "write", " socket:*", EINTR, BEFORE, "written again" },
	{ "*", "write", "*/report", EINTR, WHENEVER, "written again" },
	{ "*", "sendmsg", "*", EINTR, WHENEVER, "sent again" },
	{ "*", "poll", "*", EINTR, WHENEVER, "polled again" },
	{ "0", "recvmsg", " socket:*", EINTR, BEFORE, "the gate is polled again" },
	{ "0", "recvfrom", " socket:*", EINTR, BEFORE, "the gate is polled again" },
	{ "*", "wait4", "*", EINTR, WHENEVER, "waited again" },
	{ "0", "fcntl", " /run/stepjail/ids 0x25", EAGAIN, BEFORE,
	  "another slot is tried" },
	{ "0", "fcntl", " /run/stepjail/ids 0x25", EACCES, BEFORE,
	  "another slot is tried" },

	/* the jail has a network namespace of its own then, or another lease */
	{ "0", "open", " /proc/self/ns/net", ANY, BEFORE, "none is leased" },
	{ "0", "open", " /run/stepjail/net/*", ANY, BEFORE, "the next one is taken" },
	{ "0", "mkdir", " /run/stepjail/net", ANY, BEFORE, "none is leased" },
	{ "0", "mknod", " /run/stepjail/net/*", ANY, BEFORE, "the next one is taken" },
	{ "0", "mount", " /run/stepjail/net*", ANY, BEFORE, "none, or the next" },
	{ "0", "setns", " /run/stepjail/net/*", ANY, BEFORE, "the next one is taken" },
	{ "0", "unshare", "*", ANY, BEFORE, "the next one is taken" },
	{ "0", "fstat", " net:*", ANY, BEFORE, "none, or the next" },
	{ "0", "open*", "*/proc/sys/net/core/somaxconn", ANY, BEFORE,
	  "the next one is taken" },
	{ "*", "open*", "*sys/net/core/somaxconn", ENOENT, BEFORE,
	  "older kernels have no such limit in a user's network" },
	{ "0", "write", "*/proc/sys/net/core/somaxconn", ANY, BEFORE,
	  "the next one is taken" },
	{ "0", "sched_getaffinity", "*", ANY, BEFORE, "so many as for one processor" },

	/* who may not open a pipe again may not read it either: it is not passed on */
	{ "0", "open", " /proc/self/fd/[12]", ANY, BEFORE, "it is asked for" },
	{ "0", "access", " /proc/self/fd/[12]", ANY, BEFORE, "that is so" },
	{ "0", "open*", "*/proc/sys/kernel/core_pattern", ENOENT, BEFORE,
	  "a kernel without it dumps no core" },

	/* a second way, or nothing that matters */
	{ "0", "writev", "*", ANY, BEFORE,
	  "a warning is lost; the report tells the same" },
	{ "0", "writev", "*", ANY, AFTER,
	  "a line about what was refused is lost; the report tells the same" },
	{ "0", "stat", " walls", ANY, BEFORE, "no script of the host's is looked for" },
	{ "0", "stat", " /bin/walls", ANY, BEFORE,
	  "no script of the host's is looked for" },
	{ "0", "open", " /etc/stepjail/defaults", ENOENT, BEFORE,
	  "there need be no file of defaults" },
	{ "0", "open", " /etc/stepjail/defaults", ENOTDIR, BEFORE,
	  "there need be no file of defaults" },
	{ "0", "prlimit64", " 0x3", ANY, BEFORE,
	  "a line about a full stack names no limit" },
	{ "0", "fstat", " pipe:*", ANY, BEFORE,
	  "stdout and stderr are passed on by a pipe each, as if they were two" },
	{ "0", "prlimit64", " 0x7", ANY, BEFORE,
	  "the launcher keeps the soft limit of files that it was given" },
	{ "0.1", "move_mount", "*", ANY, BEFORE,
	  "where a mount goes to a folder of the root, it is tried again by an fd of that" },
	{ "0.1.1", "prlimit64", "*", EPERM, BEFORE,
	  "as where the caller's hard limit is lower: set again, no higher than that" },
	{ "0", "open", " /sys/fs/cgroup", ENOENT, BEFORE,
	  "--allow-missing cgroup was given" },
	{ "0", "open", " /sys/fs/cgroup", EACCES, BEFORE,
	  "--allow-missing cgroup was given" },
	{ "0", "access", " /run/systemd/system", ANY, BEFORE,
	  "no systemd is asked for a scope: there is no cgroup v2, or it is ours" },
	{ "0", "stat", " /proc/self/exe", ANY, BEFORE,
	  "init is trusted for its owner, if not for the launcher's" },
	{ "0", "fstat", "*/report", ANY, BEFORE, "no space is reserved for the report" },
	{ "0", "fallocate", "*", EOPNOTSUPP, BEFORE,
	  "no space is reserved for the report" },
	{ "0", "landlock_create_ruleset", "*", ENOSYS, BEFORE,
	  "as a kernel without Landlock answers; the report says so" },
	{ "0", "landlock_create_ruleset", "*", EOPNOTSUPP, BEFORE,
	  "as a kernel without Landlock answers; the report says so" },
	{ "@(0|copier)", "capget", "*", ANY, BEFORE,
	  "libcap asks the kernel for its version of the sets, and knows one without" },
	{ "0", "prctl", " 0x17", ANY, BEFORE,
	  "libcap looks for the last capability: only what a template inherits needs it, "
	  "and with less of it a stage of the template fails" },
	{ "0.1", "newfstatat", "*", ANY, BEFORE,
	  "the mount point is made, which fails where something is" },
	{ "0.1", "syscall-122", "*", ANY, BEFORE,
	  "setfsuid: a user's init has the program's id already; else the next one tells" },
	{ "@(0.1|copier)", "prctl", " 0xf", ANY, BEFORE, "PR_SET_NAME: a name for ps" },
	{ "0.1", "prctl", " 0x18", EINVAL, BEFORE,
	  "the end of the bounding set; posture.c looks whether it was" },
	{ "0.1.1", "execve", " /nowhere/*", ENOENT, BEFORE,
	  "the next folder of PATH is tried" },
	{ "0.1.1", "execve", " /nowhere/*", EACCES, BEFORE,
	  "the next folder of PATH is tried" },
	{ "0.1.1", "seccomp", " 0x1", EINVAL, BEFORE,
	  "as a kernel without WAIT_KILLABLE_RECV answers: loaded without it" },
	{ "0", "fcntl", "*/report 0x3", EPERM, WHENEVER,
	  "no space is reserved for the report, or given back: it may be appended to" },
	{ "0", "fstat", "*/report", ANY, AFTER,
	  "space that was reserved behind the report's end stays" },
	{ "0", "ftruncate", "*/report", ANY, AFTER,
	  "space that was reserved behind the report's end stays" },
	{ "0", "open", "*/tree.shaN*", ANY, BEFORE,
	  "no digest is kept beside the tree: the report says null" },
	{ "0", "openat", " -N /proc/N/root/*", ANY, BEFORE,
	  "the report says: full null" },
	{ "0", "fstatfs", " /work", ANY, AFTER, "the report says: full null" },
	{ "0", "fstatfs", " /tmp", ANY, AFTER, "the report says: full null" },
	{ "0", "fstatfs", " /", ANY, AFTER, "the report says: full null" },
	{ "0", "ioctl", " pipe:* 0x541b", ANY, AFTER,
	  "FIONREAD: read to the end instead" },

	/* the posture: no program without it, as judge.c sees to */
	{ "0", "prctl", " 0x15", ANY, BEFORE,
	  "PR_GET_SECCOMP: the own filters are counted in status instead" },
	{ "0", "getdents64", "*/out", ENOENT, BEFORE,
	  "libc's readdir() takes this for the end: the folder of --out has been removed" },
	{ "0", "getdents64", " /proc/N/fdinfo", ENOENT, BEFORE,
	  "its end, to musl: so it is for a process that has ended, and 0 to 2 were "
	  "seen" },

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

	/* the cgroup leaf */
	{ "0", "mkdirat", " /sys/fs/cgroup stepjail", EEXIST, BEFORE,
	  "another one made it" },
	{ "0", "openat", "*/run-N-N memory.swap.max", ENOENT, BEFORE,
	  "as a kernel built without swap answers; the report says so" },
	{ "0", "openat", "*/run-N-N memory.high", ENOENT, BEFORE,
	  "a kernel without it has what was planned: no limit of that kind" },
	{ "0", "openat", "*/run-N-N memory.oom.group", ENOENT, BEFORE,
	  "a kernel without it has what was planned: no limit of that kind" },
	{ "0", "openat", "*/run-N-N cpu.weight", ENOENT, BEFORE,
	  "a kernel without it has what was planned: no limit of that kind" },
	{ "0", "openat", "*/run-N-N io.max", ENOENT, BEFORE,
	  "a kernel without it has what was planned: no limit of that kind" },
	{ "0", "openat", "*/run-N-N cpuset.cpus*", ENOENT, BEFORE,
	  "a kernel without it has what was planned: no limit of that kind" },
	{ "0", "openat", "*/run-N-N *.peak", ANY, BEFORE,
	  "what the set-up used counts as the program's" },
	{ "0", "read", "*/run-N-N/*.peak", ANY, BEFORE,
	  "what the set-up used counts as the program's" },
	{ "0", "openat", "*/run-N-N *.events", ANY, BEFORE,
	  "what the set-up used counts as the program's" },
	{ "0", "read", "*/run-N-N/*.events", ANY, BEFORE,
	  "what the set-up used counts as the program's" },
	{ "0", "openat", "*/run-N-N *.stat", ANY, BEFORE,
	  "what the set-up used counts as the program's" },
	{ "0", "read", "*/run-N-N/*.stat", ANY, BEFORE,
	  "what the set-up used counts as the program's" },
	{ "0", "faccessat", " /sys/fs/cgroup cgroup.type", ANY, BEFORE,
	  "root, as one without a type above it: writing there tells the rest" },
	{ "0", "access", " /sys/fs/cgroup*", ANY, BEFORE,
	  "the place is not ours to divide: root has another" },
	{ "0", "openat", "*/run-N-N cgroup.kill", ANY, BEFORE, "init is killed as well" },
	{ "0", "openat", "*/run-N-N cgroup.procs", ANY, BEFORE,
	  "strays are told as at least one" },
	{ "0", "lseek", "*/run-N-N/*", ANY, BEFORE,
	  "what the set-up used counts as the program's" },
	{ "0", "lseek", "*/run-N-N/*", ANY, AFTER, "the report says null, or at least" },
	{ "0", "read", "*/run-N-N/*", ANY, AFTER, "the report says null, or at least" },
	{ "0", "write", "*/run-N-N/cgroup.kill", ANY, AFTER, "init is killed as well" },
	{ "0", "unlinkat", "*", EBUSY, AFTER, "tried again" },
	/* on a slow host one is asked for between the gate and the program's exec */
	{ "0", "sendmsg", " socket:*", ANY, WHENEVER,
	  "a sample that the keeper is asked for: at the next look it is asked again" },
	{ "0", "recvmsg", " socket:*", ANY, AFTER,
	  "the keeper's last sample: the one before it is told" },
	{ "0", "recvfrom", "*", ANY, AFTER,
	  "the keeper's end, which is waited for behind it" },
	{ "0", "shutdown", "*", ANY, AFTER,
	  "the keeper hears of the launcher's end by its pidfd" },
	{ "0", "prctl", " 0x18", ANY, BEFORE,
	  "the watcher's bounding set: no_new_privs makes it idle, and the report has "
	  "it" },
	{ "@(0|copier)", "open", " /", EACCES, BEFORE,
	  "the process tries whether Landlock holds: that is how it answers" },
	{ "0", "mmap", "*", ANY, AFTER,
	  "what could not be printed is null in the report" },
	{ "keeper", "*", "*", ANY, WHENEVER,
	  "its end is seen, a sample that failed is told, and init ends with its control "
	  "socket" },

	/* while it runs and ends */
	{ "0", "ioctl", "*seccomp notify 0xc0502100", EINTR, AFTER, "received again" },
	{ "0", "ioctl", "*seccomp notify 0xc0502100", ENOENT, AFTER, "received again" },
	{ "0", "ioctl", "*seccomp notify 0xc0182101", EINTR, AFTER, "answered again" },
	{ "0", "poll", "*", ENOMEM, AFTER, "the listener is looked at again" },
	{ "0", "rt_sigprocmask", " 0x1", EPERM, AFTER,
	  "SIG_UNBLOCK: a slow reader of captured output must be waited for" },
	{ "0", "sched_getaffinity", "*", ANY, AFTER,
	  "the next look at CPU time is later" },
	{ "0.1", "poll", "*", ENOMEM, AFTER,
	  "init ends, having told of the program's end: with no strays it would have "
	  "anyway" },
	{ "0.1", "kill", "*", ANY, AFTER,
	  "init stays, and the launcher looks for strays" },
	{ "0", "pidfd_send_signal", "*", ANY, AFTER,
	  "init ends with the control socket, and the jail with it" },
};

const char *call_harmless(const struct call *call, int errnum)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (fnmatch(rows[i].who, call->who, FNM_EXTMATCH) == 0 &&
		    fnmatch(rows[i].name, call_name(call->nr), 0) == 0 &&
		    fnmatch(rows[i].detail, call->detail, 0) == 0 &&
		    (rows[i].errnum == ANY || rows[i].errnum == errnum) &&
		    (rows[i].when == WHENEVER || (rows[i].when == AFTER) == call->late))
			return rows[i].why;
	return NULL;
}
