/* SPDX-License-Identifier: MIT */
/*
 * buffer.c - what the sockets of a jail may hold: see buffer.h
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

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

int buffer_bound(enum plan_net net, struct buffer_bound *bound, struct err *e)
{
	cleanup_fd int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int send = 0, receive = 0;
	socklen_t size = sizeof(send);
	int r;

	/* both defaults are the whole kernel's, and not shown in every namespace's sysctls */
	if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send, &size) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive, &size) < 0)
		return err_set(e, errno, "watch: ask how much a socket may hold");
	bound->bytes = SOCKET_BYTES + 2 * (uint64_t)send;
	bound->inet_bytes = 0;
	if (net != NET_LOOPBACK)
		return 0;
	bound->inet_bytes = 2 * (uint64_t)receive;
	r = add_tcp("/proc/sys/net/ipv4/tcp_wmem", 4U << 20, &bound->inet_bytes, e);
	return r < 0 ? r
		     : add_tcp("/proc/sys/net/ipv4/tcp_rmem", 6U << 20,
			       &bound->inet_bytes, e);
}

/* the whole host's, in bytes; a CPU may have a MiB of each that is not in the sum yet */
static uint64_t inet_used(uint64_t tcp_pages, uint64_t udp_pages)
{
	long page = sysconf(_SC_PAGESIZE), cpus = sysconf(_SC_NPROCESSORS_CONF);

	return (tcp_pages + udp_pages) * (uint64_t)page + ((uint64_t)cpus << 21);
}

int buffer_used(pid_t pid, const struct buffer_bound *bound, uint64_t *sockets,
		uint64_t *bytes)
{
	char text[1024];
	uint64_t tcp_pages, udp_pages, most;
	ssize_t n = proc_read(pid, "net/sockstat", text, sizeof(text));

	if (n < 0)
		return (int)n;
	if (sscanf(text,
		   "sockets: used %" SCNu64 " TCP: inuse %*u orphan %*u tw %*u alloc %*u "
		   "mem %" SCNu64 " UDP: inuse %*u mem %" SCNu64,
		   sockets, &tcp_pages, &udp_pages) != 3)
		return -EBADMSG;
	most = inet_used(tcp_pages, udp_pages);
	*bytes = *sockets * bound->bytes;
	*bytes +=
		*sockets * bound->inet_bytes < most ? *sockets * bound->inet_bytes : most;
	return 0;
}
