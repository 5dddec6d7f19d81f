/* SPDX-License-Identifier: MIT */
/*
 * lease.c - a network namespace that one jail after another is in: see lease.h
 *
 * Theory of operation
 *   A lease is a namespace that is mounted on the file N of /run/stepjail/net. Nobody
 *   but the host's root has a capability in it: a jail, with all of them in its own user
 *   namespace, changes nothing there. lo is down. The jail holds the lock on byte
 *   IDS_SLOTS + N of the file of id slots, by the open file that locks its ids, so both
 *   locks end when the jail has ended, whoever was killed.
 *   What a jail can leave in a namespace is a socket, and sockstat counts all of them,
 *   of every family, those in flight as well. More could be left by protocols of the
 *   internet (flow labels, TIME_WAIT, counters): its filter refuses their sockets, see
 *   seccomp/denied_without.c. So a lease without a socket is as good as new.
 *   The kernel takes some milliseconds to free the route socket of the jail before: until
 *   then the next one is taken. A lease with older sockets is thrown away.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "init/io.h"
#include "jail/base/procfs.h"
#include "jail/launch/lease.h"
#include "jail/walls/caps.h"

#define FOLDER IDS_STATE_DIR "/net"
#define OWN "/proc/self/ns/net"
#define PER_PROCESSOR 4 /* each mount costs every later jail some microseconds */
#define LEASES_MAX 256
#define FREED_S 1 /* the kernel has freed a socket */

static bool is_mounted(void)
{
	struct stat above, st;

	return stat(IDS_STATE_DIR, &above) == 0 && stat(FOLDER, &st) == 0 &&
	       st.st_dev != above.st_dev;
}

/* A file system of its own, made by one launcher. It is private, so that no other mount
 * namespace gets what is mounted in it. */
static bool have_folder(int slots)
{
	if (is_mounted())
		return true;
	return (mkdir(FOLDER, 0700) == 0 || errno == EEXIST) &&
	       ids_lock(slots, IDS_SLOTS + LEASES_MAX, F_WRLCK) == 0 &&
	       (is_mounted() ||
		(mount("stepjail", FOLDER, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
		       "mode=0700,size=64k") == 0 &&
		 mount(NULL, FOLDER, NULL, MS_PRIVATE, NULL) == 0));
}

static ino_t own_namespace(void)
{
	struct stat st;

	return stat(OWN, &st) < 0 ? 0 : st.st_ino;
}

static bool has_sockets(void)
{
	char text[1024];
	ssize_t n = procfs_read(getpid(), "net/sockstat", text, sizeof(text));
	const char *used = n > 0 ? procfs_find(text, "sockets: used ") : NULL;

	return !used || strtoul(used, NULL, 10) != 0;
}

static bool make(const char *path, ino_t first)
{
	return unshare(CLONE_NEWNET) == 0 && own_namespace() != first && !has_sockets() &&
	       mount(OWN, path, NULL, MS_BIND, NULL) == 0;
}

/* Has it sockets that are no longer being freed? When they were first seen is written down
 * where its lock is. */
static bool is_spoilt(int slots, uint32_t n, bool sockets)
{
	off_t at = IDS_SLOTS + (off_t)(n * sizeof(time_t));
	time_t since = 0, now = sockets ? time(NULL) : 0;

	(void)pread(slots, &since, sizeof(since), at);
	if (since && now)
		return now - since > FREED_S;
	if (since != now)
		(void)pwrite(slots, &now, sizeof(now), at);
	return false;
}

/* Return: is the calling process in lease N, and nothing of another jail's? */
static bool enter(int slots, uint32_t n, ino_t first)
{
	char path[sizeof(FOLDER) + 12];
	bool sockets;

	(void)snprintf(path, sizeof(path), FOLDER "/%u", n);
	cleanup_fd int fd = open(path, O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0400);

	if (fd < 0)
		return false;
	if (setns(fd, CLONE_NEWNET) < 0) /* EINVAL: nothing is mounted there */
		return errno == EINVAL && make(path, first);
	sockets = has_sockets();
	if (!is_spoilt(slots, n, sockets))
		return !sockets;
	return umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) == 0 && make(path, first);
}

/* What outlasts a jail's sockets takes other families, lo that is up, or rights. --learn
 * tells what is refused elsewhere, too. */
static bool is_wanted(const struct plan *p, const struct ids *ids)
{
	return ids->own && p->net_namespace == NET_LEASED && p->net == NET_NONE &&
	       p->call_count == 0 && p->learn == ANSWER_NO && !p->session &&
	       !p->template && caps_have(CAP_NET_ADMIN);
}

int lease_enter(struct lease *l, const struct plan *p, const struct ids *ids)
{
	long most = PER_PROCESSOR * sysconf(_SC_NPROCESSORS_ONLN);
	int back;

	if (!is_wanted(p, ids) || !have_folder(ids->slot_fd))
		return -1;
	back = open(OWN, O_RDONLY | O_CLOEXEC);
	l->first = own_namespace();
	for (uint32_t n = 0; back >= 0 && n < most && n < LEASES_MAX && !l->inside; n++) {
		if (ids_lock(ids->slot_fd, IDS_SLOTS + n, F_WRLCK) < 0)
			continue;
		if (enter(ids->slot_fd, n, l->first) && own_namespace() != l->first)
			l->inside = own_namespace();
		else
			(void)ids_lock(ids->slot_fd, IDS_SLOTS + n, F_UNLCK);
	}
	return back;
}

int lease_leave(int back, struct err *e)
{
	int r = back < 0 || setns(back, CLONE_NEWNET) == 0 ? 0 : -errno;

	io_close_fd(&back);
	return r < 0 ? err_set(e, -r, "lease: return to the launcher's own network") : 0;
}

int lease_remove(void)
{
	char path[sizeof(FOLDER) + 24];
	int count = 0;

	for (uint32_t n = 0; n < LEASES_MAX; n++) {
		(void)snprintf(path, sizeof(path), FOLDER "/%u", n);
		count += umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) == 0;
	}
	return count;
}
