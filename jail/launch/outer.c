/* SPDX-License-Identifier: MIT */
/*
 * outer.c - one PID namespace around all jails of a launcher: see outer.h
 *
 * PID 1 waits at a socket until its ids are mapped. That socket is the keeper's from then
 * on.
 */
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "init/io.h"
#include "jail/base/close_others.h"
#include "jail/base/host.h"
#include "jail/base/procfs.h"
#include "jail/launch/outer.h"
#include "jail/walls/caps.h"
#include "jail/walls/ids.h"
#include "jail/walls/mount_op.h"

static int map_ids(pid_t pid, struct err *e)
{
	static const char all[] = "0 0 4294967295"; /* a jail's ids are among them */
	char uid[32], gid[32];
	int own = ids_own(e), r = own;

	(void)snprintf(uid, sizeof(uid), "%u %u 1", geteuid(), geteuid());
	(void)snprintf(gid, sizeof(gid), "%u %u 1", getegid(), getegid());
	if (own >= 0)
		r = ids_write_maps(pid, own ? all : uid, own ? all : gid, !own, e);
	return r < 0 ? err_within(e, "serve: the namespace around all jails: ") : 0;
}

static pid_t clone_first(uint64_t *flags, int *pidfd)
{
	pid_t pid = -EPERM;

	*flags = CLONE_NEWPID;
	/* by chroot(2) the supervisor loses sight of the host */
	if (caps_have(CAP_SYS_CHROOT))
		pid = sys_clone3(*flags, -1, pidfd);
	/* only the owner of a mount namespace can mount a procfs in it */
	if (pid == -EPERM) {
		*flags |= CLONE_NEWUSER | CLONE_NEWNS;
		pid = sys_clone3(*flags, -1, pidfd);
	}
	return pid;
}

static int begin(struct keeper *k, int socket, struct err *e)
{
	char go;
	int proc;

	*k = (struct keeper){ .socket = socket };
	/* A process group of its own: where the keeper's group is killed, this process
	 * cleans up, and the other way round. */
	if (setpgid(0, 0) < 0)
		return err_set(e, errno, "serve: set PID 1 apart");
	/* the caller has ended, so nobody can be told why */
	if (recv(socket, &go, 1, 0) != 1)
		_exit(1);
	proc = mount_proc(MOUNT_WRITABLE, MOUNT_PROC_ALL, e);
	if (proc < 0)
		return proc;
	procfs_use(proc);
	return 0;
}

/* Close what others wait to see closed. stderr stays, for the keeper's last words. */
static int close_own(int socket, int pidfd, int signals)
{
	const int keep[] = { socket, pidfd, signals };

	(void)chdir("/");
	return close_range(0, 1, 0) < 0 ? -errno : close_others(keep, COUNT(keep), -1);
}

static int wait_first(pid_t pid, int left, int *status, struct err *e)
{
	int how;

	while (waitpid(pid, &how, 0) < 0)
		if (errno != EINTR)
			return err_set(e, errno, "serve: wait for its spawner");
	if (WIFSIGNALED(how))
		return err_say(e, ECHILD, "serve: its spawner was ended by signal %d",
			       WTERMSIG(how));
	*status = WEXITSTATUS(how);
	if (left)
		return err_set(e, left, "cgroup: remove the leaves of its jails");
	return 1;
}

int outer_enter(struct keeper *k, int signals, int *status, struct err *e)
{
	int ends[2], pidfd = -1, r;
	uint64_t flags;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_set(e, errno, "keeper: socket pair");
	pid = clone_first(&flags, &pidfd);
	if (pid < 0)
		return host_refused_clone(-pid, e);
	if (pid == 0) {
		(void)close(ends[1]);
		return begin(k, ends[0], e);
	}
	(void)close(ends[0]);
	r = flags & CLONE_NEWUSER ? map_ids(pid, e) : 0;
	if (r < 0)
		return r;
	r = close_own(ends[1], pidfd, signals);
	if (r < 0 || send(ends[1], "", 1, MSG_NOSIGNAL) != 1)
		return err_set(e, r < 0 ? -r : errno, "serve: start its spawner");
	return wait_first(pid, keeper_become(ends[1], pidfd, signals), status, e);
}
