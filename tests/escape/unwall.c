/* SPDX-License-Identifier: MIT */
/*
 * unwall.c - a launcher whose walls can be taken out, to see which of them an attack
 * needs
 *
 * build/unwalled/stepjail is linked from the objects of build/stepjail and this file,
 * with the linker's --wrap for each function here: the product has no hook of any kind.
 * The variable STEPJAIL_WITHOUT names walls by the words of probe.h, commas between. It
 * is never installed. The launcher's own demands, that would refuse a jail that lacks a
 * wall, are satisfied for it: what is seen is the kernel's answer and not the launcher's.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/openat2.h>
#include <linux/sched.h>

#include "jail/base/sys.h"
#include "tests/escape/unwall.h"

bool without(const char *word)
{
	const char *list = getenv(VARIABLE);
	size_t n = strlen(word);

	for (const char *at = list; at && *at; at += strcspn(at, ","), at += *at == ',')
		if (strcspn(at, ",") == n && memcmp(at, word, n) == 0)
			return true;
	return false;
}

/* ---- the kernel's calls, as the product makes them by syscall(2) */

long __real_syscall(long nr, long a, long b, long c, long d, long e, long f);

static bool is_proc; /* what is being mounted */

static uint64_t weaken(uint64_t attr)
{
	static const struct {
		const char *word;
		uint64_t flag;
	} flags[] = {
		{ "read-only", MOUNT_ATTR_RDONLY },
		{ "nosuid", MOUNT_ATTR_NOSUID },
		{ "nodev", MOUNT_ATTR_NODEV },
		{ "noexec", MOUNT_ATTR_NOEXEC },
	};

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (without(is_proc && i == 0 ? "proc-read-only" : flags[i].word))
			attr &= ~flags[i].flag;
	return attr;
}

static uint64_t fewer_namespaces(uint64_t flags)
{
	static const struct {
		const char *word;
		uint64_t flag;
	} kinds[] = {
		{ "net", CLONE_NEWNET },
		{ "ipc", CLONE_NEWIPC },
		{ "uts", CLONE_NEWUTS },
		{ "cgroup-ns", CLONE_NEWCGROUP },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (without(kinds[i].word))
			flags &= ~kinds[i].flag;
	return flags;
}

/* of a procfs. Return: NULL to leave the option out */
static const char *fs_option(const char *key, const char *value)
{
	return without(strcmp(key, "subset") == 0 ? "proc-subset" : key) ? NULL : value;
}

/* flags of these two are those of mount_setattr(2) */
int __real_mount(const char *source, const char *at, const char *type,
		 unsigned long flags, const void *data);
int __wrap_mount(const char *source, const char *at, const char *type,
		 unsigned long flags, const void *data);
int __wrap_mount(const char *source, const char *at, const char *type,
		 unsigned long flags, const void *data)
{
	char options[160];

	if (!type || (strcmp(type, "tmpfs") != 0 && strcmp(type, "overlay") != 0))
		return __real_mount(source, at, type, flags, data);
	/* of an option that is given twice, the last one holds */
	(void)snprintf(options, sizeof(options), "%s%s%s", (const char *)data,
		       *type == 't' && without("tmpfs-size") ? ",size=2G" : "",
		       *type == 't' && without("tmpfs-inodes") ? ",nr_inodes=1000000"
							       : "");
	return __real_mount(source, at, type, weaken(flags), options);
}

int __real_unshare(int flags);
int __wrap_unshare(int flags);
int __wrap_unshare(int flags)
{
	int fewer = (int)fewer_namespaces((uint64_t)flags);

	return fewer ? __real_unshare(fewer) : 0;
}

static long clone_weaker(struct clone_args *args, long size)
{
	args->flags = fewer_namespaces(args->flags);
	return __real_syscall(SYS_clone3, (long)args, size, 0, 0, 0, 0);
}

static long open_weaker(const long *a)
{
	struct open_how how = *(const struct open_how *)a[2];

	/* chdir's alone; a mount's point is resolved by three */
	if (without(how.resolve == RESOLVE_NO_MAGICLINKS ? "magic-links" : "resolve"))
		how.resolve = 0;
	return __real_syscall(SYS_openat2, a[0], a[1], (long)&how, a[3], 0, 0);
}

static long set_weaker(const long *a)
{
	struct mount_attr attr = *(const struct mount_attr *)a[3];

	attr.attr_set = weaken(attr.attr_set);
	return __real_syscall(SYS_mount_setattr, a[0], a[1], a[2], (long)&attr, a[4], 0);
}

/* init learns the words, too; the product gives it no environment */
static long exec_init(const long *a)
{
	static char text[1024];
	char *const env[] = { text, NULL };

	(void)snprintf(text, sizeof(text), VARIABLE "=%s", getenv(VARIABLE));
	return __real_syscall(SYS_execveat, a[0], a[1], a[2], (long)env, a[4], 0);
}

long __wrap_syscall(long nr, ...);
long __wrap_syscall(long nr, ...)
{
	extern char **environ;
	long a[6];
	va_list args;

	va_start(args, nr);
	for (size_t i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	/* -1 for each is only the question whether there is such a call */
	if (a[0] == -1 && a[1] == -1)
		return __real_syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (nr == SYS_execve && without("environment"))
		a[2] = (long)environ;
	if (nr == SYS_clone3)
		return clone_weaker((struct clone_args *)a[0], a[1]);
	if (nr == SYS_openat2)
		return open_weaker(a);
	if (nr == SYS_mount_setattr)
		return set_weaker(a);
	if (nr == SYS_execveat && getenv(VARIABLE))
		return exec_init(a);
	if (nr == SYS_fsopen)
		is_proc = strcmp((const char *)a[0], "proc") == 0;
	if (nr == SYS_fsmount) {
		a[2] = (long)weaken((uint64_t)a[2]);
		is_proc = false;
	}
	if (nr == SYS_fsconfig && a[2] && a[3]) {
		a[3] = (long)fs_option((const char *)a[2], (const char *)a[3]);
		if (!a[3])
			return 0;
	}
	if (nr == SYS_close_range && without("fds"))
		return 0;
	return __real_syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* ---- functions of libc */

int __real_umount2(const char *path, int flags);
int __wrap_umount2(const char *path, int flags);
int __wrap_umount2(const char *path, int flags)
{
	bool old_root = strcmp(path, ".") == 0; /* and no lease */

	/* the old root lies on top of the jail's, and the assembly on its /proc */
	return __real_umount2(old_root && without("old-root") ? "/../proc" : path, flags);
}

int __real_sethostname(const char *name, size_t length);
int __wrap_sethostname(const char *name, size_t length);
int __wrap_sethostname(const char *name, size_t length)
{
	return without("uts") ? 0 : __real_sethostname(name, length);
}

int __real_setdomainname(const char *name, size_t length);
int __wrap_setdomainname(const char *name, size_t length);
int __wrap_setdomainname(const char *name, size_t length)
{
	return without("uts") ? 0 : __real_setdomainname(name, length);
}

pid_t __real_setsid(void);
pid_t __wrap_setsid(void);
pid_t __wrap_setsid(void)
{
	return without("session") ? 0 : __real_setsid();
}

int __real_setrlimit(int resource, const struct rlimit *limit);
int __wrap_setrlimit(int resource, const struct rlimit *limit);
int __wrap_setrlimit(int resource, const struct rlimit *limit)
{
	static const struct {
		const char *word;
		int resource;
	} rows[] = {
		{ "nofile", RLIMIT_NOFILE },
		{ "nproc", RLIMIT_NPROC },
		{ "core", RLIMIT_CORE },
		{ "fsize", RLIMIT_FSIZE },
		{ "data", RLIMIT_DATA },
		{ "memlock", RLIMIT_MEMLOCK },
		{ "sigpending", RLIMIT_SIGPENDING },
		{ "cpu", RLIMIT_CPU },
		{ "priority", RLIMIT_NICE },
		{ "priority", RLIMIT_RTPRIO },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].resource == resource && without(rows[i].word))
			return 0;
	return __real_setrlimit(resource, limit);
}
