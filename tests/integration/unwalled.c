/* SPDX-License-Identifier: MIT */
/*
 * unwalled.c - stepjail, but that one wall is not put up: that which STEPJAIL_LACKS names
 *
 * Linked into build/stepjail-unwalled by -Wl,--wrap of each function below, so that the
 * product needs no hook for it. What is left out says that all went well: whether it did
 * is for the posture to find. See test_posture.py.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <linux/sched.h>

#include "jail/launch/network.h"
#include "jail/walls/caps.h"
#include "jail/walls/landlock.h"
#include "jail/walls/gate.h"
#include "jail/plan/plan.h"

static bool lacks(const char *wall)
{
	const char *word = getenv("STEPJAIL_LACKS");

	return word && strcmp(word, wall) == 0;
}

/* a function that returns 0 for success */
#define MAY_LACK(name, parameters, ...)                                                  \
	int __real_##name parameters;                                                    \
	int __wrap_##name parameters;                                                    \
	int __wrap_##name parameters                                                     \
	{                                                                                \
		return lacks(#name) ? 0 : __real_##name(__VA_ARGS__);                    \
	}

MAY_LACK(rlimit_set,
	 (const struct plan *p, bool cgroup, bool shared, bool warm, struct err *e), p,
	 cgroup, shared, warm, e)
MAY_LACK(rlimit_set_files, (const struct plan *p, struct err *e), p, e)
MAY_LACK(caps_drop_bounding, (struct err * e), e)
MAY_LACK(caps_keep_template, (const struct caps *caps, struct err *e), caps, e)
MAY_LACK(mount_set_flags, (int tree, uint64_t attr, struct err *e), tree, attr, e)
MAY_LACK(filter_listen, (const void *code, size_t count, bool deadly), code, count,
	 deadly)
MAY_LACK(umount2, (const char *path, int flags), path, flags)
MAY_LACK(setsid, (void), )
MAY_LACK(personality, (unsigned long domain), domain)
MAY_LACK(deterministic_cpu, (const struct plan *p, struct err *e), p, e)
MAY_LACK(deterministic_clock, (const struct plan *p, struct err *e), p, e)

/* the program's capabilities; init's own filter would not load without no_new_privs */
int __real_caps_drop_all(const struct caps *caps, struct err *e);
int __wrap_caps_drop_all(const struct caps *caps, struct err *e);
int __wrap_caps_drop_all(const struct caps *caps, struct err *e)
{
	return lacks("caps_drop_all") && getpid() != 1 ? 0
						       : __real_caps_drop_all(caps, e);
}

/* the program's own id, after init's */
int __real_ids_become(uid_t id, struct err *e);
int __wrap_ids_become(uid_t id, struct err *e);
int __wrap_ids_become(uid_t id, struct err *e)
{
	return lacks("ids_become") && id == PLAN_PROGRAM_ID ? 0
							    : __real_ids_become(id, e);
}

MAY_LACK(landlock_restrict, (const struct plan *p, int abi, struct err *e), p, abi, e)

MAY_LACK(network_up, (struct nl_sock * sk, struct err *e), sk, e)

/* more in the network namespace than was planned */
int __real_gate_open_sockets(int fd[GATE_FDS], bool port, struct err *e);
int __wrap_gate_open_sockets(int fd[GATE_FDS], bool port, struct err *e);
int __wrap_gate_open_sockets(int fd[GATE_FDS], bool port, struct err *e)
{
	int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq lo = { .ifr_name = "lo" };
	struct sockaddr_in ten = { .sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(0x0a010203) };

	memcpy(&lo.ifr_addr, &ten, sizeof(ten));
	if (lacks("no other address") && ioctl(sock, SIOCSIFADDR, &lo) < 0)
		return -1;
	(void)close(sock);
	if (__real_gate_open_sockets(fd, port, e) < 0)
		return -e->errnum;
	/* which is always ready */
	if (lacks("port that listens"))
		(void)dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), fd[GATE_PORT]);
	return 0;
}

int __real_procfs_write_at(int dir, const char *file, const char *text);
int __wrap_procfs_write_at(int dir, const char *file, const char *text);
int __wrap_procfs_write_at(int dir, const char *file, const char *text)
{
	char more[256];

	if (lacks("setgroups deny") && strcmp(file, "setgroups") == 0)
		return 0;
	(void)snprintf(more, sizeof(more), "%s\n2000 0 1", text);
	if (strstr(file, "_map") && lacks(file))
		text = more;
	return __real_procfs_write_at(dir, file, text);
}

/* a kernel before 6.16: it takes fds that are sent to it */
int __real_setsockopt(int fd, int level, int option, const void *value, socklen_t size);
int __wrap_setsockopt(int fd, int level, int option, const void *value, socklen_t size);
int __wrap_setsockopt(int fd, int level, int option, const void *value, socklen_t size)
{
	if (lacks("SO_PASSRIGHTS") && level == SOL_SOCKET && option == 83) {
		errno = ENOPROTOOPT;
		return -1;
	}
	return __real_setsockopt(fd, level, option, value, size);
}

int __real_mount(const char *source, const char *at, const char *type,
		 unsigned long flags, const void *options);
int __wrap_mount(const char *source, const char *at, const char *type,
		 unsigned long flags, const void *options);
int __wrap_mount(const char *source, const char *at, const char *type,
		 unsigned long flags, const void *options)
{
	if (type && strcmp(type, "overlay") == 0 && lacks("flags of the root"))
		flags = 0;
	return __real_mount(source, at, type, flags, options);
}

/* in the launcher's own network it is the host's limit, and is not a jail's to set */
int __real_mount_limit_backlog(struct err *e);
int __wrap_mount_limit_backlog(struct err *e);
int __wrap_mount_limit_backlog(struct err *e)
{
	return lacks("net") ? 0 : __real_mount_limit_backlog(e);
}

int __real_unshare(int flags);
int __wrap_unshare(int flags);
int __wrap_unshare(int flags)
{
	return lacks("net") && flags == CLONE_NEWNET ? 0 : __real_unshare(flags);
}

/* a launcher that stays in the lease */
int __real_setns(int fd, int type);
int __wrap_setns(int fd, int type);
int __wrap_setns(int fd, int type)
{
	static ino_t first;
	struct stat st;

	if (!first && stat("/proc/self/ns/net", &st) == 0)
		first = st.st_ino;
	return lacks("way back from the lease") && fstat(fd, &st) == 0 &&
			       st.st_ino == first
		       ? 0
		       : __real_setns(fd, type);
}

static const struct {
	const char *name;
	uint64_t flag;
} namespaces[] = {
	{ "ipc", CLONE_NEWIPC },
	{ "cgroup", CLONE_NEWCGROUP },
};

/* what has no wrapper in the libc, or an inline one */
long __real_syscall(long number, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...)
{
	struct clone_args args;
	va_list list;
	long a[6];

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	/* -1 for each argument is only the question whether there is such a call */
	if (number == SYS_clone3 && a[0] != -1) {
		memcpy(&args, (const void *)a[0], sizeof(args));
		for (size_t i = 0; i < sizeof(namespaces) / sizeof(namespaces[0]); i++)
			if (lacks(namespaces[i].name))
				args.flags &= ~namespaces[i].flag;
		if (lacks("lease"))
			args.flags |= CLONE_NEWNET;
		a[0] = (long)&args;
	}
	if (number == SYS_mount_setattr && lacks("mount_setattr"))
		return 0;
	if (number == SYS_setgroups && lacks("setgroups"))
		return 0;
	if (number == SYS_close_range && lacks("close_range"))
		return 0;
	if (number == SYS_fsconfig && a[2] && a[2] != -1 && lacks((const char *)a[2]))
		return 0;
	return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
