/* SPDX-License-Identifier: MIT */
/*
 * gate.c - where the program waits until the launcher has looked: see gate.h
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "init/io.h"
#include "init/wire.h"
#include "jail/walls/gate.h"
#include "jail/base/fd_passing.h"

int gate_make(int *outside, int *inside, struct err *e)
{
	static const struct timeval soon = { .tv_sec = 1 };
	int ends[2], on = 1;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return err_set(e, errno, "gate: socket pair");
	*outside = ends[0];
	*inside = ends[1];
	if (setsockopt(*outside, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0)
		return err_set(e, errno, "gate: ask for credentials");
	/* what is behind the first byte of READY is there at once, or never */
	if (setsockopt(*outside, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof(soon)) < 0)
		return err_set(e, errno, "gate: set a timeout");
	return 0;
}

static void pack_ready(uint32_t landlock, unsigned char *head)
{
	wire_pack(&(struct wire_header){ .type = WIRE_READY, .step = landlock }, head);
}

/* Beside the first byte. Before the rest goes, both are closed: when the launcher looks,
 * they are seen not to be there, where no exec will end them. */
int gate_tell(int inside, int *netlink, int *listener, struct err *e)
{
	const int fds[] = { *netlink, *listener };
	unsigned char head[WIRE_HEADER_BYTES];
	int r;

	pack_ready(0, head);
	r = fd_passing_send(inside, head, 1, fds, *listener >= 0 ? 2 : 1);
	io_close_fd(netlink);
	io_close_fd(listener);
	return r < 0 ? fd_passing_failed(-r, "gate: hand over fds", e) : 0;
}

int gate_wait(int inside, uint32_t landlock, struct err *e)
{
	unsigned char head[WIRE_HEADER_BYTES];
	struct wire_header go;
	int r;

	pack_ready(landlock, head);
	r = io_write_all(inside, head + 1, sizeof(head) - 1);
	if (r < 0)
		return err_set(e, -r, "gate: tell the launcher");
	r = wire_recv(inside, &go, NULL, 0);
	if (r < 0 || go.type != WIRE_GO)
		return err_say(e, EPIPE, "gate: the launcher is gone");
	return 0;
}

int gate_receive(int outside, pid_t *program, int *netlink, int *listener,
		 uint32_t *landlock, struct err *e)
{
	unsigned char head[WIRE_HEADER_BYTES];
	union {
		char room[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = { head, 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct wire_header h;
	struct ucred who = { 0 };
	ssize_t n = recvmsg(outside, &msg, MSG_CMSG_CLOEXEC);
	int fds[2];
	bool sane;

	if (n == 0)
		return 0;
	if (n < 0)
		return err_set(e, errno, "gate: receive");
	sane = fd_passing_take(&msg, fds, COUNT(fds), &who) <= COUNT(fds);
	*netlink = fds[0];
	*listener = fds[1];
	n = recv(outside, head + 1, sizeof(head) - 1, MSG_WAITALL);
	if (n == 0) {
		io_close_fd(netlink);
		io_close_fd(listener);
		return 0;
	}
	if (!sane || (msg.msg_flags & MSG_CTRUNC) || n != sizeof(head) - 1 ||
	    wire_unpack(head, &h) < 0 || h.type != WIRE_READY || h.length || who.pid <= 0)
		return err_say(e, EBADMSG, "gate: the program's process says nonsense");
	*program = who.pid;
	*landlock = h.step;
	return 1;
}

int gate_open(int *outside)
{
	int r = wire_send(*outside, WIRE_GO, 0, NULL, 0);

	io_close_fd(outside);
	return r;
}
