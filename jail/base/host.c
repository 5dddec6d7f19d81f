/* SPDX-License-Identifier: MIT */
/*
 * host.c - what stepjail needs of its host: see host.h
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include <linux/magic.h>
#include <linux/seccomp.h>

#include "init/io.h"
#include "jail/base/host.h"
#include "jail/base/procfs.h"

/* the newest system calls that every run makes, and the Linux that brought each */
static const struct {
	const char *name;
	long number;
	const char *since;
	bool privileged; /* the kernel checks rights before arguments */
} calls[] = {
	{ "seccomp", SYS_seccomp, "3.17", false },
	{ "pidfd_send_signal", SYS_pidfd_send_signal, "5.1", false },
	{ "fsopen", SYS_fsopen, "5.2", true },
	{ "open_tree", SYS_open_tree, "5.2", false },
	{ "move_mount", SYS_move_mount, "5.2", true },
	{ "clone3", SYS_clone3, "5.3", false },
	{ "openat2", SYS_openat2, "5.6", false },
	{ "close_range", SYS_close_range, "5.9", false },
	{ "mount_setattr", SYS_mount_setattr, "5.12", false },
};

#define CONTAINER                                                                        \
	"in a container, start that with --security-opt seccomp=unconfined or a filter " \
	"that allows namespaces and mounts"

/* why clone3(2) may fail with EPERM where no sysctl refuses it */
#define REFUSED                                                                          \
	"leave the chroot, or the user namespace that has no number for this user or "   \
	"group, if it is one of these; " CONTAINER

#define FILES_MIN 64 /* open files of the launcher and its stages, and some to spare */

static int check_calls(struct err *e)
{
	for (size_t i = 0; i < COUNT(calls); i++) {
		/* no call does anything with such arguments */
		if (syscall(calls[i].number, -1L, -1L, -1L, -1L, -1L) < 0 &&
		    (errno == ENOSYS || (errno == EPERM && !calls[i].privileged)))
			return err_say(
				e, ENOSYS,
				"host: this kernel has no %s (Linux %s), or a seccomp filter refuses it: boot a newer one, or " CONTAINER,
				calls[i].name, calls[i].since);
	}
	return 0;
}

int host_check(struct err *e)
{
	struct rlimit files;
	struct statfs fs;
	int r = check_calls(e);

	if (r < 0)
		return r;
	if (statfs("/proc", &fs) < 0 || fs.f_type != PROC_SUPER_MAGIC)
		return err_say(
			e, ENOENT,
			"host: there is no /proc, by which the launcher maps ids and reads the walls back: mount -t proc proc /proc");
	if (!procfs_is_own())
		return err_say(
			e, ESRCH,
			"host: /proc shows another PID namespace than the launcher's: mount -t proc proc /proc (unshare --mount-proc)");
	if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur < FILES_MIN)
		return err_say(
			e, EMFILE,
			"host: the launcher needs %d open files: raise RLIMIT_NOFILE (ulimit -n)",
			FILES_MIN);
	if (fs.f_flags & ST_RDONLY)
		return err_say(
			e, EROFS,
			"host: /proc is read-only, and the launcher maps ids by it: mount -o remount,rw /proc");
	return 0;
}

/* of a list such as 0-1,3, whose numbers rise */
static int last_number(const char *list)
{
	size_t n = strspn(list, "0123456789-,");

	while (n && strchr("0123456789", list[n - 1]))
		n--;
	return atoi(list + n);
}

int host_check_cpus(const char *list, struct err *e)
{
	char online[4096] = "";

	if (!list || io_read_file_at(AT_FDCWD, "/sys/devices/system/cpu/online", online,
				     sizeof(online)) <= 0)
		return 0;
	online[strcspn(online, "\n")] = '\0';
	return last_number(list) <= last_number(online)
		       ? 0
		       : err_say(e, EINVAL, "--cpuset %s: this host has CPUs %.60s alone",
				 list, online);
}

static bool file_holds(const char *file, char first)
{
	char text[32];

	return io_read_file_at(AT_FDCWD, file, text, sizeof(text)) > 0 &&
	       text[0] == first && text[1] == '\n';
}

#define PROFILE "load stepjail's AppArmor profile (README)"

/* How to lift the restriction of user namespaces on this host; NULL if none is known */
static const char *find_remedy(void)
{
	static const struct {
		const char *file;
		char refusing;
		const char *remedy;
	} switches[] = {
		{ "/proc/sys/kernel/unprivileged_userns_clone", '0',
		  "sysctl -w kernel.unprivileged_userns_clone=1" },
		{ "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", '1',
		  PROFILE
		  ", or sysctl -w kernel.apparmor_restrict_unprivileged_userns=0" },
	};

	char label[256];

	for (size_t i = 0; i < COUNT(switches); i++)
		if (file_holds(switches[i].file, switches[i].refusing))
			return switches[i].remedy;
	if (io_read_file_at(AT_FDCWD, "/proc/self/attr/apparmor/current", label,
			    sizeof(label)) > 0 &&
	    strstr(label, "(enforce)"))
		return PROFILE ": the one that confines this program refuses it";
	return NULL;
}

static int refused_count(struct err *e)
{
	static const char *const kinds[] = { "user", "mnt", "pid",   "net",
					     "ipc",  "uts", "cgroup" };
	const char *kind = "*";

	for (size_t i = 0; i < COUNT(kinds); i++) {
		char file[64];

		(void)snprintf(file, sizeof(file), "/proc/sys/user/max_%s_namespaces",
			       kinds[i]);
		if (file_holds(file, '0'))
			kind = kinds[i];
	}
	return err_say(
		e, ENOSPC,
		"launch: the limit of namespaces is reached: sysctl -w user.max_%s_namespaces=10000, and no more than 32 user or PID namespaces inside one another",
		kind);
}

int host_refused_clone(int errnum, struct err *e)
{
	const char *remedy = find_remedy();

	switch (errnum) {
	case EPERM:
	case EACCES:
		return err_say(e, errnum, "launch: new user namespaces are refused: %s",
			       remedy ? remedy : REFUSED);
	case ENOSPC:
		return refused_count(e);
	case EINVAL:
		return err_say(
			e, EINVAL,
			"launch: this kernel lacks one of the seven namespaces or CLONE_INTO_CGROUP (Linux 5.7): see stepjail check");
	default:
		return err_set(e, errnum, "launch: make new namespaces");
	}
}

int host_refused_capability(struct err *e)
{
	const char *remedy = find_remedy();

	return err_say(
		e, EPERM, "ids: the new user namespace gives no capability: %s",
		remedy ? remedy
		       : "load stepjail's AppArmor profile (README), or allow them in the profile that confines it");
}

void host_hint(struct err *e)
{
	const char *words = strerror(e->errnum), *hint = NULL;
	size_t n = strlen(e->text), w = strlen(words);

	/* an error of err_say() gives its reason itself, and does not end in errno's
	 * words */
	if (n < w || strcmp(e->text + n - w, words) != 0)
		return;
	if (e->errnum == EAGAIN)
		hint = "raise RLIMIT_NPROC (ulimit -u), or pids.max of the cgroup that this runs in";
	if (e->errnum == EPERM && prctl(PR_GET_SECCOMP) == SECCOMP_MODE_FILTER)
		hint = "a seccomp filter is on here and may be what refuses; " CONTAINER;
	if (hint)
		(void)snprintf(e->text + n, sizeof(e->text) - n, ": %s", hint);
}

void host_names(const char *pattern, char *names, size_t size)
{
	glob_t found = { 0 };

	(void)glob(pattern, 0, NULL, &found);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		const char *name = strrchr(found.gl_pathv[i], '/') + 1;
		size_t used = strlen(names);

		(void)snprintf(names + used, size - used, " %.*s",
			       (int)strcspn(name, "."), name);
	}
	globfree(&found);
}
