/* SPDX-License-Identifier: MIT */
/*
 * unwall_jail.c - the same for functions of the product's own: see unwall.c
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/capability.h>

#include "init/err.h"
#include "jail/walls/caps.h"
#include "jail/watch/capture.h"
#include "jail/launch/cgroup/cgroup.h"
#include "jail/walls/ids.h"
#include "jail/walls/mount.h"
#include "jail/walls/mount_op.h"
#include "jail/plan/plan.h"
#include "jail/launch/posture.h"
#include "jail/base/procfs.h"
#include "jail/base/sys.h"
#include "jail/watch/proc_usage.h"
#include "tests/escape/unwall.h"

int __real_seccomp_install(const struct plan *p, unsigned int lacks, uint64_t *key,
			   int *listener, struct err *e);
int __wrap_seccomp_install(const struct plan *p, unsigned int lacks, uint64_t *key,
			   int *listener, struct err *e);
int __wrap_seccomp_install(const struct plan *p, unsigned int lacks, uint64_t *key,
			   int *listener, struct err *e)
{
	static struct plan plan;

	plan = *p;
	if (without("lock-code"))
		plan.lock_code = LOCK_NO;
	if (!without("seccomp"))
		return __real_seccomp_install(&plan, without("shut") ? 0 : lacks, key,
					      listener, e);
	/* the launcher demands one; this one never has anything to tell */
	*key = 0;
	*listener = eventfd(0, EFD_CLOEXEC);
	return *listener < 0 ? err_set(e, errno, "unwall: eventfd") : 0;
}

/* The limit on files with all others, before the listener. Where "nofile" is out, a program
 * may raise it again. */
int __real_rlimit_set(const struct plan *p, bool cgroup, bool shared_id, struct err *e);
int __wrap_rlimit_set(const struct plan *p, bool cgroup, bool shared_id, struct err *e);
int __wrap_rlimit_set(const struct plan *p, bool cgroup, bool shared_id, struct err *e)
{
	rlim_t files = p->limit[LIMIT_FILES];
	struct rlimit now;

	if (without("listener-first") && getrlimit(RLIMIT_NOFILE, &now) == 0) {
		now.rlim_cur = files;
		if (!without("nofile"))
			now.rlim_max = files;
		(void)prlimit(0, RLIMIT_NOFILE, &now, NULL);
	}
	return __real_rlimit_set(p, cgroup, shared_id, e);
}

int __real_capture_open(struct capture *c, int stdio[3], const struct plan *p,
			struct err *e);
int __wrap_capture_open(struct capture *c, int stdio[3], const struct plan *p,
			struct err *e);
int __wrap_capture_open(struct capture *c, int stdio[3], const struct plan *p,
			struct err *e)
{
	return without("capture") ? 0 : __real_capture_open(c, stdio, p, e);
}

int __real_stdio_check(struct err *e);
int __wrap_stdio_check(struct err *e);
int __wrap_stdio_check(struct err *e)
{
	return without("stdio") ? 0 : __real_stdio_check(e);
}

int __real_landlock_restrict(const struct plan *p, int abi, struct err *e);
int __wrap_landlock_restrict(const struct plan *p, int abi, struct err *e);
int __wrap_landlock_restrict(const struct plan *p, int abi, struct err *e)
{
	return without("landlock") ? 0 : __real_landlock_restrict(p, abi, e);
}

int __real_landlock_try(struct err *e);
int __wrap_landlock_try(struct err *e);
int __wrap_landlock_try(struct err *e)
{
	return getenv(VARIABLE) ? 0 : __real_landlock_try(e);
}

int __real_caps_drop_bounding(struct err *e);
int __wrap_caps_drop_bounding(struct err *e);
int __wrap_caps_drop_bounding(struct err *e)
{
	return without("capabilities") ? 0 : __real_caps_drop_bounding(e);
}

/* all of them, through exec: by the ambient set */
static void keep_all(void)
{
	struct __user_cap_header_struct header = { .version =
							   _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[2] = { { 0 } };

	(void)syscall(SYS_capget, &header, sets);
	for (int i = 0; i < 2; i++)
		sets[i].inheritable = sets[i].effective = sets[i].permitted;
	(void)syscall(SYS_capset, &header, sets);
	for (unsigned long cap = 0; cap < 64; cap++)
		(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0);
}

/* one, until exec takes it: without no_new_privs it is what a filter may be loaded
 * with */
static void keep_one(void)
{
	struct __user_cap_header_struct header = { .version =
							   _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[2] = { { 0 } };

	sets[0].permitted = sets[0].effective = 1U << CAP_SYS_ADMIN;
	(void)syscall(SYS_capset, &header, sets);
}

int __real_caps_drop_all(const struct caps *caps, struct err *e);
int __wrap_caps_drop_all(const struct caps *caps, struct err *e);
int __wrap_caps_drop_all(const struct caps *caps, struct err *e)
{
	bool nnp = !without("no-new-privs");

	if (getpid() == 1) /* init's own are not what is tried */
		return __real_caps_drop_all(caps, e);
	if (without("capabilities"))
		keep_all();
	else if (nnp)
		return __real_caps_drop_all(caps, e);
	else
		keep_one();
	return nnp ? prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) : 0;
}

int __real_mount_overlay(const char *at, const char *lowerdir, struct err *e);
int __wrap_mount_overlay(const char *at, const char *lowerdir, struct err *e);
int __wrap_mount_overlay(const char *at, const char *lowerdir, struct err *e)
{
	char lower[64];

	if (!without("overlay"))
		return __real_mount_overlay(at, lowerdir, e);
	if (strncmp(lowerdir, "z:", 2) == 0) /* empty, in front of the root tree */
		lowerdir += 2;
	(void)snprintf(lower, sizeof(lower), "%.*s", (int)strcspn(lowerdir, ":"),
		       lowerdir);
	return mount(lower, at, NULL, MS_BIND, NULL) < 0
		       ? err_set(e, errno, "unwall: bind %s", lower)
		       : 0;
}

/* what stands in for /dev/zero is shut, too */
int __real_mount_jail(const struct sources *s, const struct plan *p, bool cgroup,
		      struct err *e);
int __wrap_mount_jail(const struct sources *s, const struct plan *p, bool cgroup,
		      struct err *e);
int __wrap_mount_jail(const struct sources *s, const struct plan *p, bool cgroup,
		      struct err *e)
{
	return __real_mount_jail(s, p, cgroup || without("shut"), e);
}

/* as root: the program is the host's user 0, as where ids are shared */
int __real_ids_map(const struct ids *ids, pid_t pid, struct err *e);
int __wrap_ids_map(const struct ids *ids, pid_t pid, struct err *e);
int __wrap_ids_map(const struct ids *ids, pid_t pid, struct err *e)
{
	char map[96];

	if (!ids->own || !without("ids"))
		return __real_ids_map(ids, pid, e);
	(void)snprintf(map, sizeof(map), "%u %u 1\n%u 0 1", ids->init_id, ids->host_uid,
		       ids->program_id);
	if (procfs_write_at(procfs_open(pid), "setgroups", "deny") < 0 ||
	    procfs_write_at(procfs_open(pid), "gid_map", map) < 0 ||
	    procfs_write_at(procfs_open(pid), "uid_map", map) < 0)
		return err_set(e, errno, "unwall: map ids");
	return 0;
}

int __real_posture_early(const struct jail *jail, const struct gate_ready *ready,
			 struct posture *p, struct err *e);
int __wrap_posture_early(const struct jail *jail, const struct gate_ready *ready,
			 struct posture *p, struct err *e);
int __wrap_posture_early(const struct jail *jail, const struct gate_ready *ready,
			 struct posture *p, struct err *e)
{
	return getenv(VARIABLE) ? 0 : __real_posture_early(jail, ready, p, e);
}

int __real_posture_read(const struct jail *jail, const struct gate_ready *ready,
			struct posture *p, struct err *e);
int __wrap_posture_read(const struct jail *jail, const struct gate_ready *ready,
			struct posture *p, struct err *e);
int __wrap_posture_read(const struct jail *jail, const struct gate_ready *ready,
			struct posture *p, struct err *e)
{
	return getenv(VARIABLE) ? 0 : __real_posture_read(jail, ready, p, e);
}

/* the compiler sees that they are as the product declares them */
__typeof__(cgroup_make) __real_cgroup_make, __wrap_cgroup_make;
int __wrap_cgroup_make(struct cgroup *c, const struct plan *p, struct err *e)
{
	return without("cgroup") ? err_say(e, ENOENT, "unwall: no cgroup")
				 : __real_cgroup_make(c, p, e);
}

void __real_proc_usage_look(void *plan, pid_t init, struct keeper_sample *s);
void __wrap_proc_usage_look(void *plan, pid_t init, struct keeper_sample *s);
void __wrap_proc_usage_look(void *plan, pid_t init, struct keeper_sample *s)
{
	__real_proc_usage_look(plan, init, s);
	if (without("watch"))
		s->memory_bytes = s->cpu_us = 0;
}

/* in the launcher's own network it is the host's limit, and is not a jail's to set */
__typeof__(mount_limit_backlog) __real_mount_limit_backlog, __wrap_mount_limit_backlog;
int __wrap_mount_limit_backlog(struct err *e)
{
	return without("net") ? 0 : __real_mount_limit_backlog(e);
}

__typeof__(procfs_locks_exceed) __real_procfs_locks_exceed, __wrap_procfs_locks_exceed;
int __wrap_procfs_locks_exceed(int list, uint64_t limit)
{
	return without("watch") ? 0 : __real_procfs_locks_exceed(list, limit);
}

/* what has sockets is a lease like any other */
__typeof__(procfs_read) __real_procfs_read, __wrap_procfs_read;
ssize_t __wrap_procfs_read(pid_t pid, const char *file, char *text, size_t size)
{
	if (without("lease") && strcmp(file, "net/sockstat") == 0)
		return snprintf(text, size, "sockets: used 0\n");
	return __real_procfs_read(pid, file, text, size);
}
