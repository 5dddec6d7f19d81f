/* SPDX-License-Identifier: MIT */
/*
 * lease.c - a network namespace that one jail after another is in: see lease.h
 *
 * Theory of operation
 *   A lease is a namespace that is mounted on the file N of /run/stepjail/net. Nobody
 *   but the host's root has a capability in it: a jail, with all of them in its own user
 *   namespace, changes nothing there. lo is down. The jail holds the lock on byte
 *   IDS_SLOTS + N of the file of id slots, by the open file that locks its ids: both
 *   locks end when the jail has ended, whoever was killed.
 *   What a jail can leave in a namespace is a socket, and sockstat counts all of them,
 *   of every family, those in flight as well. More could be left by protocols of the
 *   internet (flow labels, TIME_WAIT, counters): its filter refuses their sockets, see
 *   seccomp/denied_without.c. So a lease without a socket is as good as new. One that
 *   has a socket is passed over: the kernel takes some milliseconds to free the route
 *   socket of the jail before, and somebody on the host may hold one that was sent out.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "init/io.h"
#include "jail/base/procfs.h"
#include "jail/launch/lease.h"
#include "jail/walls/caps.h"
#include "jail/walls/mount_op.h"

#define FOLDER IDS_STATE_DIR "/net"
#define OWN "/proc/self/ns/net"
#define PER_PROCESSOR 4 /* each mount costs every later jail some microseconds */
#define LEASES_MAX 256

static const char *path_of(unsigned int n)
{
	static char path[sizeof(FOLDER) + 12];

	(void)snprintf(path, sizeof(path), FOLDER "/%u", n);
	return path;
}

/* then no other mount namespace gets what is mounted in it; where nothing is mounted, it
 * is EINVAL */
static bool is_private(void)
{
	return mount(NULL, FOLDER, NULL, MS_PRIVATE, NULL) == 0;
}

/* a file system of its own, made by one launcher */
static bool have_folder(int slots)
{
	return is_private() || ((mkdir(FOLDER, 0700) == 0 || errno == EEXIST) &&
				ids_lock(slots, IDS_SLOTS + LEASES_MAX, F_WRLCK) == 0 &&
				(is_private() || (mount("stepjail", FOLDER, "tmpfs",
							MS_NOSUID | MS_NODEV | MS_NOEXEC,
							"mode=0700,size=64k") == 0 &&
						  is_private())));
}

static bool has_sockets(void)
{
	char text[1024];
	ssize_t n = procfs_read(getpid(), "net/sockstat", text, sizeof(text));
	const char *used = n > 0 ? procfs_find(text, "sockets: used ") : NULL;

	return !used || strtoul(used, NULL, 10) != 0;
}

static ino_t number_of(int ns)
{
	struct stat st;

	return fstat(ns, &st) < 0 ? 0 : st.st_ino;
}

/* Enter a new namespace, and keep it as lease N. Return: as enter() */
static ino_t make(int slots, unsigned int n, ino_t first)
{
	if (!have_folder(slots) ||
	    (mknod(path_of(n), S_IFREG | 0400, 0) < 0 && errno != EEXIST) ||
	    unshare(CLONE_NEWNET) < 0)
		return 0;

	cleanup_fd int fd = open(OWN, O_RDONLY | O_CLOEXEC);

	return number_of(fd) != first && mount(OWN, path_of(n), NULL, MS_BIND, NULL) == 0
		       ? number_of(fd)
		       : 0;
}

/* Enter lease N. Return: its number, if it is new or as good as new; else 0 */
static ino_t enter(int slots, unsigned int n, ino_t first)
{
	cleanup_fd int fd = open(path_of(n), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0 || setns(fd, CLONE_NEWNET) < 0)
		return make(slots, n, first);
	return has_sockets() ? 0 : number_of(fd);
}

/* Enter what somebody else has made and will remove. Whether the caller's rights suffice,
 * also for the way back, the kernel says. */
static int join(struct lease *l, const char *path, int back, struct err *e)
{
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (fd < 0 || setns(back, CLONE_NEWNET) < 0 || setns(fd, CLONE_NEWNET) < 0)
		return err_set(e, errno,
			       "--net=%.200s: enter this network namespace, as root",
			       path);
	l->inside = number_of(fd);
	return l->inside != l->first
		       ? 0
		       : err_say(e, EPERM,
				 "--net=%.200s: this is the launcher's own network, which no jail has",
				 path);
}

/* What outlasts a jail's sockets takes other families, lo that is up, or rights. --learn
 * tells what is refused elsewhere, too. */
static bool is_wanted(const struct plan *p, const struct ids *ids)
{
	return ids->own && p->net_namespace == NET_LEASED && p->net == NET_NONE &&
	       p->call_count == 0 && p->learn == ANSWER_NO && !p->session &&
	       !p->template && caps_have(CAP_SYS_ADMIN) && caps_have(CAP_NET_ADMIN);
}

int lease_enter(struct lease *l, const struct plan *p, const struct ids *ids, bool cgroup,
		int *back, struct err *e)
{
	long most = PER_PROCESSOR * sysconf(_SC_NPROCESSORS_ONLN);

	if (p->net != NET_ENTERED && !is_wanted(p, ids))
		return 0;
	*back = open(OWN, O_RDONLY | O_CLOEXEC);
	l->first = number_of(*back);
	if (p->net == NET_ENTERED)
		return join(l, p->net_path, *back, e);
	for (unsigned int n = 0; l->first && n < most && n < LEASES_MAX; n++) {
		if (ids_lock(ids->slot_fd, IDS_SLOTS + n, F_WRLCK) < 0)
			continue;
		l->inside = enter(ids->slot_fd, n, l->first);
		/* as mount_limit_backlog(), which takes rights that no jail has here; the
		 * kernel's own default where a cgroup counts what sockets hold */
		if (l->inside &&
		    io_write_file_at(AT_FDCWD, "/proc/" MOUNT_BACKLOG,
				     cgroup ? "4096" : MOUNT_BACKLOG_MAX) == 0)
			break;
		l->inside = 0;
		(void)ids_lock(ids->slot_fd, IDS_SLOTS + n, F_UNLCK);
	}
	return 0;
}

int lease_leave(int back, struct err *e)
{
	int r = back < 0 || setns(back, CLONE_NEWNET) == 0 ? 0 : -errno;

	io_close_fd(&back);
	return r < 0 ? err_set(e, -r, "lease: return to the launcher's own network") : 0;
}
