/* SPDX-License-Identifier: MIT */
/*
 * pass.c - packets with fds beside them: see pass.h
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "init/io.h"
#include "jail/pass.h"

union room {
	char bytes[CMSG_SPACE(PASS_FDS_MAX * sizeof(int))];
	struct cmsghdr part;
};

int pass_send(int to, const void *bytes, size_t length, const int *fds, size_t fd_count)
{
	union room room = { .bytes = { 0 } };
	struct iovec iov = { (void *)(uintptr_t)bytes, length };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (fd_count > PASS_FDS_MAX)
		return -EINVAL;
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

int pass_receive(int from, void *bytes, size_t length, int *fds, size_t fd_max)
{
	union room room;
	struct iovec iov = { bytes, length };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &room,
			      .msg_controllen = sizeof(room) };
	ssize_t n = recvmsg(from, &msg, MSG_CMSG_CLOEXEC | MSG_TRUNC);
	size_t count = 0;

	for (size_t i = 0; i < fd_max; i++)
		fds[i] = -1;
	if (n <= 0)
		return n < 0 ? -errno : -EPIPE;

	const struct cmsghdr *part = CMSG_FIRSTHDR(&msg);

	if (part && part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_RIGHTS)
		count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);

	bool sane = (size_t)n == length && count <= fd_max &&
		    !(msg.msg_flags & (MSG_CTRUNC | MSG_TRUNC));

	for (size_t i = 0; i < count; i++) {
		int fd;

		memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
		if (sane)
			fds[i] = fd;
		else
			(void)close(fd);
	}
	return sane ? (int)count : -EBADMSG;
}
