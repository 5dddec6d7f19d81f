/* SPDX-License-Identifier: MIT */
/*
 * packet.c - frames on a SOCK_SEQPACKET channel: see packet.h
 *
 * Theory of operation
 *   A jail may put an fd beside a packet that takes long to close: a TCP socket that
 *   lingers, or many inotify instances. Whoever closes the last reference of it waits,
 *   and that must never be serve, in which the limits of all sessions run. Since Linux
 *   6.16 such a packet is refused when it is sent (SO_PASSRIGHTS). On an older kernel:
 *   - A packet is looked at before it is received, by MSG_PEEK without room for fds. The
 *     kernel then takes references of its own and drops them, while the packet has the
 *     fds still; and it tells that there were some. Such a packet is never received.
 *   - packet_close() looks at all that was not received. If there are fds, a process of
 *     its own closes the channel last: closer.c.
 * See unix(7), and inet_release() in the kernel's net/ipv4/af_inet.c.
 */
#include <stdbool.h>

#include "init/io.h"
#include "jail/serve/wire/closer.h"
#include "jail/serve/wire/packet.h"
#include "jail/base/fd_passing.h"

int packet_send(int fd, const struct wire_header *h, const void *payload, const int *fds,
		size_t count)
{
	unsigned char head[WIRE_HEADER_BYTES];
	/* iovec has no const; sendmsg does not write to it */
	struct iovec parts[] = { { head, sizeof(head) },
				 { (void *)(uintptr_t)payload, h->length } };

	wire_pack(h, head);
	return fd_passing_send_parts(fd, parts, h->length ? 2 : 1, fds, count);
}

int packet_receive(int fd, struct wire_header *h, unsigned char *payload, pid_t *pid)
{
	unsigned char head[WIRE_HEADER_BYTES];
	struct iovec iov[] = { { head, sizeof(head) }, { payload, STEP_TEXT_MAX } };
	union {
		char room[CMSG_SPACE(sizeof(struct ucred))];
		struct cmsghdr align;
	} control;
	struct msghdr msg = {
		.msg_iov = iov,
		.msg_iovlen = 2,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t n = recvmsg(fd, &msg, MSG_PEEK | MSG_DONTWAIT);
	struct ucred who = { .pid = -1 };

	if (n < 0)
		return -errno;
	/* the credentials have room, so it is fds that have none */
	if (msg.msg_flags & MSG_CTRUNC)
		return -EPROTO;
	(void)fd_passing_take(&msg, NULL, 0, &who);
	/* an empty packet has a sender, the end of file has none */
	if (who.pid < 0)
		return 0;
	/* not taken where the peer's end is told first; it is there next time */
	if (recv(fd, NULL, 0, MSG_DONTWAIT) < 0)
		return -errno;
	*pid = who.pid;
	if ((msg.msg_flags & MSG_TRUNC) || (size_t)n < sizeof(head) ||
	    wire_unpack(head, h) < 0 || h->length != (size_t)n - sizeof(head))
		return -EBADMSG;
	return 1;
}

/* Return: is a packet with fds among those that nobody has received? */
static bool has_fds(int fd)
{
	static unsigned char payload[STEP_TEXT_MAX];
	struct wire_header h;
	pid_t pid;
	int r;

	/* from here on a sender gets EPIPE, so there is an end to what is received
	 * here */
	(void)shutdown(fd, SHUT_RD);
	do
		r = packet_receive(fd, &h, payload, &pid);
	while (r == 1 || r == -EBADMSG || r == -ECONNRESET);
	return r == -EPROTO;
}

void packet_close(int *fd)
{
	/* what nobody else can close stays open until the end of this process */
	if (*fd >= 0 && has_fds(*fd) && closer_give(fd) < 0)
		*fd = -1;
	io_close_fd(fd);
}
