/* SPDX-License-Identifier: MIT */
/*
 * probe_namespace.c - new namespaces, and other processes' ones
 */
#include "tests/escape/scene.h"

#include <linux/sched.h>
#include <sched.h>

struct kind {
	const char *name;
	unsigned long flag;
};

static const struct kind user = { "user", CLONE_NEWUSER };
static const struct kind mnt = { "mnt", CLONE_NEWNS };
static const struct kind pid = { "pid", CLONE_NEWPID };
static const struct kind net = { "net", CLONE_NEWNET };
static const struct kind ipc = { "ipc", CLONE_NEWIPC };
static const struct kind uts = { "uts", CLONE_NEWUTS };
static const struct kind cgroup = { "cgroup", CLONE_NEWCGROUP };
static const struct kind clock_kind = { "time", CLONE_NEWTIME };

static long try_unshare(const void *flags)
{
	return syscall(SYS_unshare, *(const unsigned long *)flags);
}

static long try_clone(unsigned long flags)
{
	long child = syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, 0);

	if (child == 0)
		_exit(0);
	if (child > 0)
		(void)waitpid((pid_t)child, NULL, 0);
	return child;
}

static void new_namespace(char **argv)
{
	const struct kind *kind = probe_self->data;
	const unsigned long both = kind->flag | CLONE_NEWUSER;

	(void)argv;
	door("unshare", probe_in_child(try_unshare, &kind->flag));
	door("unshare, with a user namespace", probe_in_child(try_unshare, &both));
	if (kind->flag == CLONE_NEWTIME) /* clone's exit signal has that bit */
		return;
	door("clone", try_clone(kind->flag));
	door("clone, with a user namespace", try_clone(both));
}

/* its flags lie in memory, where no filter sees them */
static void by_clone3(char **argv)
{
	struct clone_args args = { .flags = CLONE_NEWUSER, .exit_signal = SIGCHLD };
	long child = syscall(SYS_clone3, &args, sizeof(args));

	(void)argv;
	if (child == 0)
		_exit(0);
	door("clone3", child);
	args.flags = CLONE_NEWUSER | CLONE_NEWNS;
	child = syscall(SYS_clone3, &args, sizeof(args));
	if (child == 0)
		_exit(0);
	door("clone3, two kinds", child);
}

/* a filter that compares 64 bits, and a kernel that looks at 32, or the reverse */
static void high_bits(char **argv)
{
	(void)argv;
	door("unshare", syscall(SYS_unshare, 0x100000000UL | CLONE_NEWUSER));
	door("clone", try_clone(0xff00000000000000UL | CLONE_NEWUSER));
}

static void enter(char **argv)
{
	static const char *const names[] = { "user", "mnt",    "pid", "net",
					     "ipc",  "cgroup", "uts", "time" };
	int pidfd = (int)syscall(SYS_pidfd_open, getppid(), 0);

	(void)argv;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char path[64];

		(void)snprintf(path, sizeof(path), "/proc/self/ns/%s", names[i]);
		door_reach(path, syscall(SYS_setns, open(path, O_RDONLY), 0));
	}
	door_reach("by pidfd", syscall(SYS_setns, pidfd, CLONE_NEWNS));
}

#define ROW(name, kind)                                                                  \
	{                                                                                \
		name, "make a new " name " (unshare, clone)", W(SECCOMP), NULL,          \
			new_namespace, 0, &(kind)                                        \
	}

static const struct probe probes[] = {
	ROW("user-namespace", user),
	ROW("mount-namespace", mnt),
	ROW("pid-namespace", pid),
	ROW("net-namespace", net),
	ROW("ipc-namespace", ipc),
	ROW("uts-namespace", uts),
	ROW("cgroup-namespace", cgroup),
	ROW("time-namespace", clock_kind),
	{ "clone3", "make a namespace by clone3, whose flags lie in memory", W(SECCOMP),
	  NULL, by_clone3, 0, NULL },
	{ "clone-high-bits", "make a namespace with bits in the high half of the flags",
	  W(SECCOMP), NULL, high_bits, 0, NULL },
	{ "setns", "enter a namespace, by its file and by a pidfd", W(SECCOMP), NULL,
	  enter, 0, NULL },
};

AREA(namespace, "namespaces", probes);
