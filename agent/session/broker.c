/* SPDX-License-Identifier: MIT */
/*
 * broker.c - starts stepjail for a confined agent: see broker.h
 *
 * Theory of operation
 *   agent:  broker_start() sends a byte and an fd, and waits for the answer
 *   broker: makes a stream; clone3() with CLONE_PARENT, waits until that has executed
 *	     stepjail or failed, answers with errno, pid, the stream's other end, and a
 *	     pidfd, and closes all; with --server the stream is that server's
 *   One request at a time, over a SOCK_SEQPACKET pair; its end is the broker's end.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/sched.h>

#include "agent/base/secret.h"
#include "agent/session/attach.h"
#include "agent/session/broker.h"
#include "init/io.h"

#define START 's' /* the request, with one fd */

#define FDS_MAX 2 /* of a message: those of an answer */

struct answer {
	int32_t errnum;         /* 0, or why there is no stepjail */
	int32_t pid;            /* to be waited for, where it is not 0 */
	char why[ERR_TEXT_MAX]; /* a server's words; or "" */
};

union fd_room {
	char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
	struct cmsghdr align;
};

/* a message of @length bytes and @count fds; 0 or -errno */
static int send_with(int socket, const void *bytes, size_t length, const int *fds,
		     size_t count)
{
	struct iovec iov = { (void *)(uintptr_t)bytes, length };
	union fd_room room = { { 0 } };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (count) {
		m.msg_control = room.bytes;
		m.msg_controllen = CMSG_SPACE(count * sizeof(int));

		struct cmsghdr *c = CMSG_FIRSTHDR(&m);

		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(c), fds, count * sizeof(int));
	}
	while (sendmsg(socket, &m, MSG_NOSIGNAL) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

/* what came: its bytes, 0 at the end, or -errno; @fds are the caller's to close */
static ssize_t receive(int socket, void *bytes, size_t length, int fds[FDS_MAX],
		       size_t *count)
{
	struct iovec iov = { bytes, length };
	union fd_room room = { { 0 } };
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = room.bytes,
			    .msg_controllen = sizeof(room.bytes) };
	ssize_t n;

	*count = 0;
	do
		n = recvmsg(socket, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;

	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
		*count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(fds, CMSG_DATA(c), *count * sizeof(int));
	}
	/* more fds than there is room for: those that came are still closed */
	return m.msg_flags & (MSG_CTRUNC | MSG_TRUNC) ? -EBADMSG : n;
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

/* a stream to a new stepjail, or to a server's: the end that is the agent's */
static int open_stream(const struct broker *b, int beside, int *stream, int *pidfd,
		       pid_t *pid, struct err *e)
{
	cleanup_fd int theirs = -1;
	int both[2];

	if (b->server) {
		*stream = attach_open(b->server, b->args->list + 2, e); /* serve's */
		return *stream < 0 ? *stream : 0;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both) < 0)
		return -errno;
	*stream = both[0];
	theirs = both[1];
	return fcntl(*stream, F_SETFL, O_NONBLOCK) < 0
		       ? -errno
		       : start(b, (const int[]){ theirs, beside, beside }, pidfd, pid);
}

/* one request; false at the end of all */
static bool serve_one(const struct broker *b, int socket)
{
	int came[FDS_MAX] = { -1, -1 };
	cleanup_fd int stream = -1;
	cleanup_fd int pidfd = -1;
	struct answer answer = { 0 };
	struct err e = { 0 };
	size_t count;
	pid_t pid = 0;
	unsigned char what = 0;
	ssize_t n = receive(socket, &what, sizeof(what), came, &count);
	int r = -EBADMSG;

	if (n == sizeof(what) && what == START && count == 1)
		r = open_stream(b, came[0], &stream, &pidfd, &pid, &e);
	for (size_t i = 0; i < count; i++)
		(void)close(came[i]);
	answer = (struct answer){ -r, pid > 0 ? pid : 0, "" };
	memcpy(answer.why, e.text, sizeof(e.text));
	return (n > 0 || n == -EBADMSG) &&
	       send_with(socket, &answer, sizeof(answer), (const int[]){ stream, pidfd },
			 stream < 0  ? 0
			 : pidfd < 0 ? 1
				     : 2) == 0;
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

int broker_start(const struct broker *b, int beside, int *stream, struct child *c,
		 struct err *e)
{
	const unsigned char what = START;
	struct answer answer = { 0 };
	int came[FDS_MAX] = { -1, -1 };
	size_t count;
	int r = send_with(b->socket, &what, sizeof(what), &beside, 1);

	*stream = -1;

	ssize_t n = r < 0 ? r : receive(b->socket, &answer, sizeof(answer), came, &count);

	if (n != sizeof(answer))
		return err_set(e, n < 0 ? (int)-n : EPIPE,
			       "the process that starts stepjail has ended");
	*stream = came[0];
	*c = (struct child){ answer.pid, came[1] };
	if (!answer.errnum && *stream >= 0)
		return 0;
	io_close_fd(stream);
	(void)launch_end(c, 0);
	answer.why[sizeof(answer.why) - 1] = '\0';
	return answer.why[0] ? err_say(e, answer.errnum, "%s", answer.why)
			     : err_set(e, answer.errnum, "cannot start %s", b->path);
}

void broker_close(struct broker *b)
{
	io_close_fd(&b->socket);
	while (b->pid > 0 && waitpid(b->pid, NULL, 0) < 0 && errno == EINTR)
		continue;
	*b = BROKER_NONE;
}
