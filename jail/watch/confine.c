/* SPDX-License-Identifier: MIT */
/*
 * confine.c - a process gives up its rights: see confine.h
 *
 * The order: fds first, while nothing is refused; Landlock, and a try whether it holds,
 * before the root directory changes and the ids, which empty the capability sets; the
 * filter last, since it refuses the calls that make the other walls. Then all of it is
 * read back through an fd that was opened first.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/capability.h>
#include <linux/seccomp.h>

#include "init/io.h"
#include "jail/base/close_others.h"
#include "jail/base/procfs.h"
#include "jail/base/sys.h"
#include "jail/walls/landlock.h"
#include "jail/watch/confine.h"

#define STATUS_BYTES 65536 /* the caller's groups are in it */

static int confine_files(const struct confine *c, struct err *e)
{
	int r;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_set(e, errno, "confine: no_new_privs");
	r = c->landlock_abi ? landlock_close(c->landlock_abi, c->root, e) : 0;
	if (r == 0 && c->root >= 0 && (fchdir(c->root) < 0 || chroot(".") < 0))
		return err_set(e, errno, "confine: change the root directory");
	return r;
}

static int become(uid_t id, struct err *e)
{
	if (id == 0)
		return 0;
	if (setgroups(0, NULL) < 0)
		return err_set(e, errno, "confine: give up supplementary groups");
	if (setresgid(id, id, id) < 0)
		return err_set(e, errno,
			       "confine: become group %u (root needs CAP_SETGID)", id);
	if (setresuid(id, id, id) < 0)
		return err_set(e, errno,
			       "confine: become user %u (root needs CAP_SETUID)", id);
	return 0;
}

/* The bounding set only limits what an exec gives, which no_new_privs ends: whoever lacks
 * CAP_SETPCAP keeps it, and the report has it. */
static int empty_bounding_set(struct err *e)
{
	unsigned long cap = 0;

	while (prctl(PR_CAPBSET_DROP, cap, 0UL, 0UL, 0UL) == 0)
		cap++;
	if (errno == EINVAL || (errno == EPERM && cap == 0))
		return 0;
	return err_set(e, errno, "confine: drop %lu from the bounding set", cap);
}

static int drop_capabilities(struct err *e)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

	if (syscall(SYS_capset, &head, none) < 0)
		return err_set(e, errno, "confine: give up capabilities");
	return 0;
}

static int put_up(const struct confine *c, struct err *e)
{
	int death = 0;
	int r = confine_files(c, e);

	if (r < 0)
		return r;
	if (prctl(PR_GET_PDEATHSIG, &death) < 0)
		return err_set(e, errno, "confine: ask for the parent-death signal");
	r = empty_bounding_set(e);
	if (r == 0)
		r = become(c->id, e);
	if (r == 0)
		r = drop_capabilities(e);
	/* the kernel forgets the parent-death signal when ids change */
	if (r == 0 && death && prctl(PR_SET_PDEATHSIG, death) < 0)
		r = err_set(e, errno, "confine: parent-death signal");
	if (r == 0 && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		r = err_set(e, errno, "confine: be undumpable");
	if (r < 0)
		return r;
	r = c->filter ? filter_load(c->filter, c->filter_count) : 0;
	return r < 0 ? err_set(e, -r, "confine: load the filter") : 0;
}

static const char *read_status(int fd, struct err *e)
{
	static char text[STATUS_BYTES];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	if (n < 0) {
		(void)err_set(e, errno, "confine: read /proc/self/status");
		return NULL;
	}
	text[n] = '\0';
	return text;
}

/* how many filters this process lives behind already, where any of them lets it ask */
static long count_filters(int status, struct err *e)
{
	const char *text;

	if (prctl(PR_GET_SECCOMP) == 0)
		return 0;
	text = read_status(status, e);
	return text ? confine_filters(text) : -1;
}

/* of this process, in the procfs of its own PID namespace */
static int open_status(const struct confine *c)
{
	cleanup_fd int dir = c->root < 0 ? procfs_open(getpid()) : -1;
	char file[32] = "status";

	if (c->root >= 0)
		(void)snprintf(file, sizeof(file), "%d/status", getpid());
	else if (dir < 0)
		return dir;
	return procfs_open_at(c->root >= 0 ? c->root : dir, file, O_RDONLY);
}

int confine_self(const struct confine *c, struct confinement *told, struct err *e)
{
	cleanup_fd int status = -1;
	const char *text;
	long filters;
	int r = close_others(c->keep, c->keep_count);

	if (r < 0)
		return err_set(e, -r, "confine: close all fds but %zu", c->keep_count);
	status = open_status(c);
	if (status < 0)
		return err_set(e, -status, "confine: open /proc/self/status");
	filters = count_filters(status, e);
	r = put_up(c, e);
	if (r < 0)
		return r;
	text = read_status(status, e);
	if (!text)
		return -e->errnum;
	told->landlock_abi = c->landlock_abi;
	r = confine_compare(c, text, filters, told, e);
	told->known = r == 0;
	return r;
}
