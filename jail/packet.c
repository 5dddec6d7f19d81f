/* SPDX-License-Identifier: MIT */
/*
 * packet.c - frames on a SOCK_SEQPACKET channel: see packet.h
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "jail/packet.h"
#include "jail/pass.h"

int packet_pair(int *outside, int *inside, struct err *e)
{
	int ends[2], on = 1;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_set(e, errno, "channel: socket pair");
	*outside = ends[0];
	*inside = ends[1];
	/* not the inside end: an interpreter that waits is asleep in recvmsg(2) */
	if (fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0 ||
	    setsockopt(ends[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0)
		return err_set(e, errno, "channel: ask for credentials");
	return 0;
}

int packet_send(int fd, const struct wire_header *h, const void *payload, const int *fds,
		size_t count)
{
	unsigned char head[WIRE_HEADER_BYTES];
	/* iovec has no const; sendmsg does not write to it */
	struct iovec parts[] = { { head, sizeof(head) },
				 { (void *)(uintptr_t)payload, h->length } };

	wire_pack(h, head);
	return pass_send_parts(fd, parts, h->length ? 2 : 1, fds, count);
}

static void close_fds(const struct cmsghdr *part)
{
	for (size_t at = CMSG_LEN(0); at + sizeof(int) <= part->cmsg_len;
	     at += sizeof(int)) {
		int fd;

		memcpy(&fd, (const char *)part + at, sizeof(fd));
		(void)close(fd);
	}
}

int packet_receive(int fd, struct wire_header *h, unsigned char *payload, pid_t *pid)
{
	unsigned char head[WIRE_HEADER_BYTES];
	struct iovec iov[] = { { head, sizeof(head) }, { payload, STEP_TEXT_MAX } };
	/* none is due, and no more than this are taken: the kernel closes the rest */
	union {
		char room[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct msghdr msg = {
		.msg_iov = iov,
		.msg_iovlen = 2,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	struct ucred who = { 0 };

	if (n <= 0)
		return n < 0 ? -errno : 0;
	for (struct cmsghdr *c = NULL; (c = pass_next(&msg, c));) {
		if (c->cmsg_level != SOL_SOCKET)
			continue;
		if (c->cmsg_type == SCM_CREDENTIALS)
			memcpy(&who, CMSG_DATA(c), sizeof(who));
		if (c->cmsg_type == SCM_RIGHTS)
			close_fds(c);
	}
	*pid = who.pid;
	if ((msg.msg_flags & MSG_TRUNC) || (size_t)n < sizeof(head) ||
	    wire_unpack(head, h) < 0 || h->length != (size_t)n - sizeof(head))
		return -EBADMSG;
	return 1;
}
