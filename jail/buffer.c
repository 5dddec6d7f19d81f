/* SPDX-License-Identifier: MIT */
/*
 * buffer.c - what the sockets of a jail may hold: see buffer.h
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>

#include "init/io.h"
#include "jail/buffer.h"
#include "jail/proc.h"

/* the socket itself, its inode, and what rounding a message to pages adds */
#define SOCKET_BYTES 16384

/* what a new network namespace has is the initial one's, which another need not show: so
 * no less than the kernel's own default. A row of net.ipv4 is minimum, default, maximum. */
static int add_tcp(const char *path, uint64_t at_least, uint64_t *bytes, struct err *e)
{
	char text[128];
	unsigned long most = 0;
	ssize_t n = io_read_file_at(AT_FDCWD, path, text, sizeof(text));

	if (n < 0 || sscanf(text, "%*u %*u %lu", &most) != 1)
		return err_say(
			e, n < 0 ? (int)-n : EBADMSG,
			"watch: %s does not tell how much a TCP socket may hold, and "
			"there is no cgroup to limit it: use --net none",
			path);
	*bytes += most > at_least ? most : at_least;
	return 0;
}

int buffer_bound(enum plan_net net, uint64_t *bytes, struct err *e)
{
	cleanup_fd int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int send = 0, receive = 0;
	socklen_t size = sizeof(send);
	int r = 0;

	/* both defaults are the whole kernel's, and not shown in every namespace's sysctls */
	if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send, &size) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive, &size) < 0)
		return err_set(e, errno, "watch: ask how much a socket may hold");
	*bytes = SOCKET_BYTES + 2 * (uint64_t)send;
	if (net != NET_LOOPBACK)
		return 0;
	*bytes += 2 * (uint64_t)receive;
	r = add_tcp("/proc/sys/net/ipv4/tcp_wmem", 4U << 20, bytes, e);
	return r < 0 ? r : add_tcp("/proc/sys/net/ipv4/tcp_rmem", 6U << 20, bytes, e);
}

long buffer_sockets(pid_t pid)
{
	char text[1024];
	long count;
	ssize_t n = proc_read(pid, "net/sockstat", text, sizeof(text));

	if (n < 0)
		return (long)n;
	return sscanf(text, "sockets: used %ld", &count) == 1 && count >= 0 ? count
									    : -EBADMSG;
}
