/* SPDX-License-Identifier: MIT */
/*
 * fd_passing.c - packets with fds beside them: see fd_passing.h
 */
#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>

#include "init/io.h"
#include "jail/base/fd_passing.h"

union room {
	char bytes[CMSG_SPACE(FD_PASSING_FDS_MAX * sizeof(int)) +
		   CMSG_SPACE(sizeof(struct ucred))];
	struct cmsghdr part;
};

int fd_passing_send_parts(int to, struct iovec *parts, size_t part_count, const int *fds,
			  size_t fd_count)
{
	union room room = { .bytes = { 0 } };
	/* glibc and musl have different types for the count */
	struct msghdr msg = { .msg_iov = parts };

	if (fd_count > FD_PASSING_FDS_MAX)
		return -EINVAL;
	msg.msg_iovlen = (unsigned short)part_count;
	if (fd_count) {
		room.part.cmsg_len = (socklen_t)CMSG_LEN(fd_count * sizeof(int));
		room.part.cmsg_level = SOL_SOCKET;
		room.part.cmsg_type = SCM_RIGHTS;
		memcpy(CMSG_DATA(&room.part), fds, fd_count * sizeof(int));
		msg.msg_control = &room;
		msg.msg_controllen = (socklen_t)CMSG_SPACE(fd_count * sizeof(int));
	}
	return sendmsg(to, &msg, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int fd_passing_send(int to, const void *bytes, size_t length, const int *fds,
		    size_t fd_count)
{
	/* iovec has no const; sendmsg does not write to it */
	struct iovec whole = { (void *)(uintptr_t)bytes, length };

	return fd_passing_send_parts(to, &whole, 1, fds, fd_count);
}

int fd_passing_failed(int errnum, const char *what, struct err *e)
{
	struct rlimit files;

	if (errnum != ETOOMANYREFS || getrlimit(RLIMIT_NOFILE, &files) < 0)
		return err_set(e, errnum, "%s", what);
	return err_say(
		e, errnum,
		"%s: other processes of this user, in jails or not, hold more than %" PRIu64
		" fds in flight in their unix sockets, and RLIMIT_NOFILE allows no more: end them, or raise it (ulimit -Hn)",
		what, (uint64_t)files.rlim_cur);
}

/* musl's macro of cmsg(3) mixes signed and unsigned */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
struct cmsghdr *fd_passing_next(struct msghdr *msg, struct cmsghdr *part)
{
	return part ? CMSG_NXTHDR(msg, part) : CMSG_FIRSTHDR(msg);
}
#pragma GCC diagnostic pop

size_t fd_passing_take(struct msghdr *msg, int *fds, size_t fd_max, struct ucred *sender)
{
	size_t count = 0;

	for (size_t i = 0; i < fd_max; i++)
		fds[i] = -1;
	for (struct cmsghdr *c = NULL; (c = fd_passing_next(msg, c));) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS &&
		    sender)
			memcpy(sender, CMSG_DATA(c), sizeof(*sender));
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n; i++, count++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			if (count < fd_max)
				fds[count] = fd;
			else
				(void)close(fd);
		}
	}
	return count;
}

int fd_passing_receive_by(int from, void *bytes, size_t length, int flags, int *fds,
			  size_t fd_max, struct ucred *sender)
{
	union room room;
	struct iovec iov = { bytes, length };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &room,
			      .msg_controllen = sizeof(room) };
	ssize_t n = recvmsg(from, &msg, MSG_CMSG_CLOEXEC | flags);
	size_t count;

	for (size_t i = 0; i < fd_max; i++)
		fds[i] = -1;
	if (n < 0)
		return -errno;
	count = fd_passing_take(&msg, fds, fd_max, sender);
	if ((size_t)n == length && count <= fd_max &&
	    !(msg.msg_flags & (MSG_CTRUNC | MSG_TRUNC)))
		return (int)count;
	for (size_t i = 0; i < fd_max; i++)
		io_close_fd(&fds[i]);
	/* the fds are closed before: an empty packet, too, may bring some */
	return n == 0 ? -EPIPE : -EBADMSG;
}

int fd_passing_receive(int from, void *bytes, size_t length, int *fds, size_t fd_max)
{
	return fd_passing_receive_by(from, bytes, length, MSG_TRUNC, fds, fd_max, NULL);
}
