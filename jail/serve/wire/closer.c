/* SPDX-License-Identifier: MIT */
/*
 * closer.c - a process that closes what takes long to close: see closer.h
 *
 * The closer never holds the last reference of an fd either: a child of its own does, for
 * each fd, and the exit of that child drops it. An exit may take as long as it likes.
 */
#include <sys/prctl.h>

#include "init/io.h"
#include "jail/base/fd_passing.h"
#include "jail/base/sys.h"
#include "jail/serve/wire/channel.h"
#include "jail/serve/wire/closer.h"
#include "jail/watch/confine.h"

static void close_in_child(int *fd)
{
	int ends[2] = { -1, -1 };
	char byte;
	pid_t child = pipe2(ends, O_CLOEXEC) < 0 ? -1 : fork();

	if (child == 0) {
		(void)close(ends[1]);
		/* the end of file: the closer has closed its copy */
		(void)!read(ends[0], &byte, 1);
		_exit(0);
	}
	/* where no process can be made, the fd is left to the closer's own exit */
	if (child > 0)
		io_close_fd(fd);
	io_close_fd(&ends[0]);
	io_close_fd(&ends[1]);
}

static _Noreturn void run(int socket, uid_t id, int landlock_abi)
{
	struct confine c = { .id = id,
			     .keep = &socket,
			     .keep_count = 1,
			     .root = -1,
			     .landlock_abi = landlock_abi };
	struct confinement told;
	struct err e;
	char byte;
	int fd;

	(void)prctl(PR_SET_NAME, "stepjail-closer");
	/* the kernel reaps the children */
	if (signal(SIGCHLD, SIG_IGN) == SIG_ERR || confine_self(&c, &told, &e) < 0)
		_exit(1);
	(void)close_range(0, 2, 0);
	while (fd_passing_receive(socket, &byte, 1, &fd, 1) != -EPIPE)
		if (fd >= 0)
			close_in_child(&fd);
	_exit(0);
}

int closer_start(uid_t id, int landlock_abi, int *socket, struct err *e)
{
	int ends[2];
	pid_t child;

	*socket = -1;
	if (channel_can_refuse_fds())
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_set(e, errno, "closer: socket pair");
	child = fork();
	if (child == 0)
		run(ends[1], id, landlock_abi);
	(void)close(ends[1]);
	*socket = ends[0];
	return child < 0 ? err_set(e, errno, "closer: start it") : 0;
}

static int used = -1;

void closer_use(int socket)
{
	used = socket;
}

int closer_give(int *fd)
{
	int r = used < 0 ? -EBADF : fd_passing_send(used, "", 1, fd, 1);

	if (r == 0)
		io_close_fd(fd);
	return r;
}
