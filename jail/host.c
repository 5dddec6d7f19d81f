/* SPDX-License-Identifier: MIT */
/*
 * host.c - what the launcher needs of its host first: see host.h
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>

#include "init/io.h"
#include "jail/host.h"

/* the newest ones that every run makes, and the Linux that brought each */
static const struct {
	const char *name;
	long number;
	const char *since;
} calls[] = {
	{ "pidfd_send_signal", SYS_pidfd_send_signal, "5.1" },
	{ "fsopen", SYS_fsopen, "5.2" },
	{ "open_tree", SYS_open_tree, "5.2" },
	{ "move_mount", SYS_move_mount, "5.2" },
	{ "clone3", SYS_clone3, "5.3" },
	{ "openat2", SYS_openat2, "5.6" },
	{ "close_range", SYS_close_range, "5.9" },
	{ "mount_setattr", SYS_mount_setattr, "5.12" },
};

#define CONTAINER                                                                        \
	"in a container, start that with --security-opt seccomp=unconfined or a filter " \
	"that allows namespaces and mounts"

static int check_calls(struct err *e)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		/* arguments that none of them takes */
		if (syscall(calls[i].number, -1L, -1L, -1L, -1L, -1L) < 0 &&
		    errno == ENOSYS)
			return err_say(e, ENOSYS,
				       "host: this kernel has no %s (Linux %s), or a "
				       "seccomp filter hides it: boot a newer one, "
				       "or " CONTAINER,
				       calls[i].name, calls[i].since);
	return 0;
}

int host_check(struct err *e)
{
	char self[16] = "";
	struct statfs fs;
	int r = check_calls(e);

	if (r < 0)
		return r;
	if (statfs("/proc", &fs) < 0 || fs.f_type != PROC_SUPER_MAGIC)
		return err_say(e, ENOENT,
			       "host: there is no /proc, by which the launcher maps ids "
			       "and reads the walls back: mount -t proc proc /proc");
	if (readlink("/proc/self", self, sizeof(self) - 1) < 0 ||
	    strtol(self, NULL, 10) != getpid())
		return err_say(e, ESRCH,
			       "host: /proc shows another PID namespace than the "
			       "launcher's: mount -t proc proc /proc (unshare "
			       "--mount-proc)");
	if (fs.f_flags & ST_RDONLY)
		return err_say(e, EROFS,
			       "host: /proc is read-only, and the launcher maps ids by "
			       "it: mount -o remount,rw /proc");
	return 0;
}

static bool reads(const char *file, char first)
{
	char text[32];

	return io_read_file_at(AT_FDCWD, file, text, sizeof(text)) > 0 &&
	       text[0] == first && text[1] == '\n';
}

/* which of the known switches refuses user namespaces, in words; NULL if none does */
static const char *find_switch(void)
{
	static const struct {
		const char *file;
		char refusing;
		const char *remedy;
	} switches[] = {
		{ "/proc/sys/kernel/unprivileged_userns_clone", '0',
		  "sysctl -w kernel.unprivileged_userns_clone=1" },
		{ "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", '1',
		  "load stepjail's AppArmor profile (README), or sysctl -w "
		  "kernel.apparmor_restrict_unprivileged_userns=0" },
	};

	for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]); i++)
		if (reads(switches[i].file, switches[i].refusing))
			return switches[i].remedy;
	return NULL;
}

static int refused_count(struct err *e)
{
	static const char *const kinds[] = { "user", "mnt", "pid",   "net",
					     "ipc",  "uts", "cgroup" };
	const char *kind = "*";

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		char file[64];

		(void)snprintf(file, sizeof(file), "/proc/sys/user/max_%s_namespaces",
			       kinds[i]);
		if (reads(file, '0'))
			kind = kinds[i];
	}
	return err_say(e, ENOSPC,
		       "launch: the limit of namespaces is reached: sysctl -w "
		       "user.max_%s_namespaces=10000, and no more than 32 user or PID "
		       "namespaces inside one another",
		       kind);
}

int host_refused_clone(int errnum, struct err *e)
{
	const char *remedy = find_switch();

	switch (errnum) {
	case EPERM:
	case EACCES:
		return err_say(e, errnum, "launch: new user namespaces are refused: %s",
			       remedy ? remedy
				      : "leave the chroot if this is one; " CONTAINER);
	case ENOSPC:
		return refused_count(e);
	case EAGAIN:
		return err_say(e, EAGAIN,
			       "launch: the limit of processes is reached: raise "
			       "RLIMIT_NPROC (ulimit -u), or pids.max of the cgroup that "
			       "this runs in");
	case EINVAL:
		return err_say(e, EINVAL,
			       "launch: this kernel lacks one of the seven namespaces "
			       "or CLONE_INTO_CGROUP (Linux 5.7): see stepjail check");
	default:
		return err_set(e, errnum, "launch: clone3");
	}
}

int host_refused_capability(struct err *e)
{
	const char *remedy = find_switch();

	return err_say(
		e, EPERM, "ids: the new user namespace gives no capability: %s",
		remedy ? remedy
		       : "load stepjail's AppArmor profile (README), or allow them "
			 "in the profile that confines it");
}
