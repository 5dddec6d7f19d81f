/* SPDX-License-Identifier: MIT */
/*
 * gate.c - where the program waits until the launcher has looked: see gate.h
 */
#include <errno.h>
#include <sys/socket.h>

#include "init/io.h"
#include "init/wire.h"
#include "jail/walls/gate.h"
#include "jail/base/fd_passing.h"

int gate_make(int *outside, int *inside, struct err *e)
{
	int ends[2], on = 1;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return err_set(e, errno, "gate: socket pair");
	*outside = ends[0];
	*inside = ends[1];
	if (setsockopt(*outside, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0)
		return err_set(e, errno, "gate: ask for credentials");
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
	int r;

	pack_ready(landlock, head);
	r = io_write_all(inside, head + 1, sizeof(head) - 1);
	if (r < 0)
		return err_set(e, -r, "gate: tell the launcher");
	return wire_wait_go(inside) < 0 ? err_say(e, EPIPE, "gate: the launcher is gone")
					: 0;
}

/* the first byte, and what came beside it; 1, 0 for end of file, or -errno */
static int receive_first(int outside, struct gate_ready *ready)
{
	struct ucred who = { 0 };
	int fds[2];
	int r = fd_passing_receive_by(outside, ready->head, 1, MSG_DONTWAIT, fds,
				      COUNT(fds), &who);

	ready->netlink = fds[0];
	ready->listener = fds[1];
	if (r < 0)
		return r == -EPIPE ? 0 : r;
	ready->program = who.pid;
	ready->have = 1;
	return who.pid > 0 ? 1 : -EBADMSG;
}

int gate_receive(int outside, struct gate_ready *ready, struct err *e)
{
	struct wire_header h;
	int r = ready->have ? 1 : receive_first(outside, ready);

	while (r > 0 && ready->have < sizeof(ready->head)) {
		ssize_t n = recv(outside, ready->head + ready->have,
				 sizeof(ready->head) - ready->have, MSG_DONTWAIT);

		r = n < 0 ? -errno : n > 0;
		ready->have += n > 0 ? (size_t)n : 0;
	}
	if (r > 0 &&
	    (wire_unpack(ready->head, &h) < 0 || h.type != WIRE_READY || h.length))
		r = -EBADMSG;
	if (r == -EAGAIN || r == -EINTR)
		return -EAGAIN;
	if (r > 0) {
		ready->landlock = h.step;
	} else {
		io_close_fd(&ready->netlink);
		io_close_fd(&ready->listener);
	}
	if (r == -EBADMSG)
		return err_say(e, EBADMSG, "gate: the program's process says nonsense");
	return r < 0 ? err_set(e, -r, "gate: receive") : r;
}

int gate_open(int *outside)
{
	int r = wire_send(*outside, WIRE_GO, 0, NULL, 0);

	io_close_fd(outside);
	return r;
}
