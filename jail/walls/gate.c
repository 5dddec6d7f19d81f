/* SPDX-License-Identifier: MIT */
/*
 * gate.c - where the program waits until the launcher has looked: see gate.h
 */

#include <netinet/in.h>

#include <linux/netlink.h>

#include "init/io.h"
#include "jail/base/fd_passing.h"
#include "jail/plan/plan.h"
#include "jail/walls/gate.h"

#define BACKLOG 128

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

int gate_open_sockets(int fd[GATE_FDS], bool port, struct err *e)
{
	/* lo, the one interface, has no address before the launcher has set it up */
	const struct sockaddr_in any = { .sin_family = AF_INET,
					 .sin_port = htons(PROXY_PORT) };

	fd[GATE_NETLINK] = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (fd[GATE_NETLINK] < 0)
		return err_set(e, errno, "net: open a route socket");
	if (!port)
		return 0;
	fd[GATE_PORT] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd[GATE_PORT] < 0 ||
	    bind(fd[GATE_PORT], (const struct sockaddr *)&any, sizeof(any)) < 0 ||
	    listen(fd[GATE_PORT], BACKLOG) < 0)
		return err_set(e, errno, "net: listen at the proxy's port");
	return 0;
}

static void pack_ready(uint32_t landlock, unsigned char *head)
{
	wire_pack(&(struct wire_header){ .type = WIRE_READY, .step = landlock }, head);
}

/* Beside a byte of READY. The fd is closed before the rest goes: when the launcher looks,
 * it is seen not to be there, where no exec will end it. */
int gate_hand_over(int inside, enum gate_fd which, int *fd, struct err *e)
{
	unsigned char head[WIRE_HEADER_BYTES];
	int r;

	pack_ready(0, head);
	r = fd_passing_send(inside, head + which, 1, fd, *fd >= 0);
	io_close_fd(fd);
	return r < 0 ? fd_passing_failed(-r, "gate: hand over an fd", e) : 0;
}

int gate_wait(int inside, uint32_t landlock, struct err *e)
{
	unsigned char head[WIRE_HEADER_BYTES];
	int r;

	pack_ready(landlock, head);
	r = io_write_all(inside, head + GATE_FDS, sizeof(head) - GATE_FDS);
	if (r < 0)
		return err_set(e, -r, "gate: tell the launcher");
	return wire_wait_go(inside) < 0 ? err_say(e, EPIPE, "gate: the launcher is gone")
					: 0;
}

/* the next byte, and the fd beside it; 1, 0 for end of file, or -errno */
static int receive_byte(int outside, struct gate_ready *ready)
{
	struct ucred who = { 0 };
	int r = fd_passing_receive_by(outside, ready->head + ready->have, 1, MSG_DONTWAIT,
				      &ready->fd[ready->have], 1, &who);

	if (r < 0)
		return r == -EPIPE ? 0 : r;
	if (who.pid <= 0 || (ready->have++ && ready->program != who.pid))
		return -EBADMSG;
	ready->program = who.pid;
	return 1;
}

int gate_receive(int outside, struct gate_ready *ready, struct err *e)
{
	struct wire_header h;
	int r = 1;

	for (size_t i = ready->have; i < GATE_FDS; i++)
		ready->fd[i] = -1;
	while (r > 0 && ready->have < GATE_FDS)
		r = receive_byte(outside, ready);
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
	if (r > 0)
		ready->landlock = h.step;
	else
		gate_close(ready);
	if (r == -EBADMSG)
		return err_say(e, EBADMSG, "gate: the program's process says nonsense");
	return r < 0 ? err_set(e, -r, "gate: receive") : r;
}

void gate_close(struct gate_ready *ready)
{
	for (size_t i = 0; i < GATE_FDS; i++)
		io_close_fd(&ready->fd[i]);
}

int gate_open(int *outside)
{
	int r = wire_send(*outside, WIRE_GO, 0, NULL, 0);

	io_close_fd(outside);
	return r;
}
