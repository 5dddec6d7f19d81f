/* SPDX-License-Identifier: MIT */
/*
 * channel.c - a new channel: see channel.h and, for the fds that it refuses, packet.c
 */
#include <sys/socket.h>

#include "init/io.h"
#include "jail/serve/wire/channel.h"

static int refuse_fds(int fd)
{
	return setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &(int){ 0 }, sizeof(int));
}

int channel_pair(int *outside, int *inside, struct err *e)
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
	if (refuse_fds(ends[0]) < 0 && errno != ENOPROTOOPT)
		return err_set(e, errno, "channel: refuse fds");
	return 0;
}

bool channel_can_refuse_fds(void)
{
	cleanup_fd int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	return refuse_fds(fd) == 0;
}
