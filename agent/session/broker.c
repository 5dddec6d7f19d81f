/* SPDX-License-Identifier: MIT */
/*
 * broker.c - starts stepjail for a confined agent: see broker.h
 *
 * Theory of operation
 *   agent:  broker_start() sends a byte, and waits for the answer
 *   broker: makes a stream, and a pipe for what is said beside it; clone3() with
 *	     CLONE_PARENT, waits until that has executed stepjail or failed, answers with
 *	     errno, pid, the other ends of both, and a pidfd, and closes all; with
 *	     --server the stream is that server's, and nobody writes to the pipe
 *   One request at a time, over a SOCK_SEQPACKET pair; its end is the broker's end.
 */
#include <limits.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <linux/sched.h>

#include "agent/base/secret.h"
#include "agent/session/attach.h"
#include "agent/session/broker.h"
#include "init/io.h"

enum { STREAM, DIAG, PIDFD, FDS }; /* of an answer; a server's has the first two */

struct answer {
	pid_t pid;    /* to be waited for, where it is more than 0 */
	struct err e; /* why there is no stepjail */
};

union fd_room {
	char bytes[CMSG_SPACE(FDS * sizeof(int))];
	struct cmsghdr head;
};

/* with those of @fds that are there; 0 or -errno */
static int send_answer(int socket, struct answer *answer, const int fds[FDS])
{
	size_t count = fds[STREAM] < 0 ? 0 : fds[PIDFD] < 0 ? PIDFD : FDS;
	struct iovec iov = { answer, sizeof(*answer) };
	union fd_room room = { { 0 } };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	room.head =
		(struct cmsghdr){ CMSG_LEN(count * sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
	memcpy(CMSG_DATA(&room.head), fds, count * sizeof(int));
	if (count) {
		m.msg_control = room.bytes;
		m.msg_controllen = CMSG_SPACE(count * sizeof(int));
	}
	while (sendmsg(socket, &m, MSG_NOSIGNAL) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

/* 0, or -errno; @fds are -1 where none came */
static int take_answer(int socket, struct answer *answer, int fds[FDS])
{
	struct iovec iov = { answer, sizeof(*answer) };
	union fd_room room = { { 0 } };
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = room.bytes,
			    .msg_controllen = sizeof(room.bytes) };
	ssize_t n;

	do
		n = recvmsg(socket, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n != sizeof(*answer))
		return n < 0 ? -errno : -EPIPE;
	if (m.msg_controllen)
		memcpy(fds, CMSG_DATA(&room.head), room.head.cmsg_len - CMSG_LEN(0));
	return 0;
}

/* 0, or -errno of clone3(2) or the child's execve(2); @pidfd may be filled in any case */
static int start(const struct broker *b, const int fds[LAUNCH_FDS], int *pidfd,
		 pid_t *pid)
{
	cleanup_fd int status_read = -1;
	cleanup_fd int status_write = -1;
	int status[2], errnum = 0;
	struct clone_args args = {
		.flags = CLONE_PARENT | CLONE_PIDFD,
		.pidfd = (uintptr_t)pidfd,
	};

	if (pipe2(status, O_CLOEXEC) < 0)
		return -errno;
	status_read = status[0];
	status_write = status[1];
	/* a child of the agent, as fork(2) would make one of the caller */
	*pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (*pid < 0)
		return -errno;
	if (*pid == 0)
		launch_become(b->path, b->args->list, fds, b->stop, b->agent,
			      status_write);
	io_close_fd(&status_write);
	return io_read_all(status_read, &errnum, sizeof(errnum)) == sizeof(errnum)
		       ? -errnum
		       : 0;
}

/* a new stepjail, or the stream to a server's: fds that are the agent's */
static int open_stream(const struct broker *b, int fds[FDS], pid_t *pid, struct err *e)
{
	cleanup_fd int said = -1;
	cleanup_fd int theirs = -1;
	int both[2], diag[2];

	if (pipe2(diag, O_CLOEXEC) < 0)
		return err_set(e, errno, "pipe");
	fds[DIAG] = diag[0];
	said = diag[1];
	if (b->server)
		return fds[STREAM] = attach_open(b->server, b->args->list + 2, e);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both) < 0)
		return err_set(e, errno, "socketpair");
	fds[STREAM] = both[0];
	theirs = both[1];

	int r = start(b, (const int[]){ theirs, said, said }, &fds[PIDFD], pid);

	return r < 0 ? err_set(e, -r, "cannot start %s", b->path) : 0;
}

/* one request; false at the end of all */
static bool serve_one(const struct broker *b, int socket)
{
	int fds[FDS] = { -1, -1, -1 };
	struct answer answer = { 0 };
	char byte;

	if (io_read_all(socket, &byte, 1) != 1)
		return false;
	(void)open_stream(b, fds, &answer.pid, &answer.e);

	for (int i = STREAM; i <= DIAG; i++)
		(void)fcntl(fds[i], F_SETFL, O_NONBLOCK);

	int r = send_answer(socket, &answer, fds);

	for (int i = 0; i < FDS; i++)
		io_close_fd(&fds[i]);
	return r == 0;
}

/* nothing of the agent's but what it executes, and with what */
__attribute__((noreturn)) static void be_broker(const struct broker *b, int socket)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	/* SIGKILL where the agent dies: with its jails, that see it by themselves */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != b->agent || null < 0)
		_exit(125);
	(void)setsid(); /* keys of the terminal are the agent's */
	for (int fd = 0; fd <= 2; fd++)
		(void)dup2(null, fd);
	(void)dup2(socket, 3);
	if (close_range(4, UINT_MAX, 0) < 0)
		_exit(125);
	secret_forget_variables();
	(void)fcntl(3, F_SETFD, FD_CLOEXEC);
	while (serve_one(b, 3))
		continue;
	if (b->tidy)
		(void)rmdir(b->tidy);
	_exit(0);
}

int broker_open(struct broker *b, const char *path, const struct launch_args *args,
		const struct stop *stop, struct err *e)
{
	cleanup_fd int theirs = -1;
	int both[2];

	b->pid = 0;
	b->socket = -1;
	b->path = path;
	b->args = args;
	b->stop = stop;
	b->agent = getpid();
	if (args->failed)
		return err_set(e, args->failed, "too many arguments for stepjail");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, both) < 0)
		return err_set(e, errno, "socketpair");
	b->socket = both[0];
	theirs = both[1];
	b->pid = fork();
	if (b->pid == 0)
		be_broker(b, theirs);
	if (b->pid < 0) {
		b->pid = 0;
		return err_set(e, errno, "fork");
	}
	return 0;
}

int broker_start(const struct broker *b, int *stream, int *diag, struct child *c,
		 struct err *e)
{
	struct answer answer = { 0 };
	int fds[FDS] = { -1, -1, -1 };
	int r = send(b->socket, "s", 1, MSG_NOSIGNAL) < 0
			? -errno
			: take_answer(b->socket, &answer, fds);

	*stream = fds[STREAM];
	*diag = fds[DIAG];
	*c = (struct child){ answer.pid, fds[PIDFD] };
	if (r < 0)
		return err_set(e, -r, "the process that starts stepjail has ended");
	if (!answer.e.errnum && *stream >= 0)
		return 0;
	io_close_fd(stream);
	(void)launch_end(c, 0);
	*e = answer.e;
	return answer.e.errnum ? -answer.e.errnum : err_set(e, EMFILE, "the stream");
}

void broker_close(struct broker *b)
{
	io_close_fd(&b->socket);
	while (b->pid > 0 && waitpid(b->pid, NULL, 0) < 0 && errno == EINTR)
		continue;
	*b = BROKER_NONE;
}
