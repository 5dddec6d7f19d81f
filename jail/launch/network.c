/* SPDX-License-Identifier: MIT */
/*
 * network.c - a jail's network namespace, through a route socket: see network.h
 *
 * By libnl-route. The jail's child opened the socket within the namespace, and the
 * launcher uses it from outside. The kernel asks for the rights of both.
 */
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <netlink/msg.h>

#include "init/io.h"
#include "jail/launch/network.h"

/* enough for a request of ours: libnl's own room would be mapped and unmapped for each */
#define REQUEST_BYTES 256

int network_failed(int r, const char *what, struct err *e)
{
	return err_say(e, r == -NLE_PERM ? EPERM : EIO, "network: %s: %s", what,
		       nl_geterror(r));
}

/* In place of nl_recv(3), which waits, and takes messages of any process */
static int receive(struct nl_sock *sk, struct sockaddr_nl *from, unsigned char **bytes,
		   struct ucred **creds)
{
	static unsigned char room[32768]; /* the most that the kernel puts into one */
	struct iovec iov = { room, sizeof(room) };
	struct msghdr msg = { .msg_name = from,
			      .msg_namelen = sizeof(*from),
			      .msg_iov = &iov,
			      .msg_iovlen = 1 };
	ssize_t n = recvmsg(nl_socket_get_fd(sk), &msg, MSG_DONTWAIT);

	(void)creds;
	if (n < 0)
		return -nl_syserr2nlerr(errno);
	if (n == 0 || (msg.msg_flags & MSG_TRUNC))
		return -NLE_MSG_TRUNC;
	if (msg.msg_namelen != sizeof(*from) || from->nl_pid != 0)
		return -NLE_NOADDR;
	*bytes = malloc((size_t)n);
	if (!*bytes)
		return -NLE_NOMEM;
	memcpy(*bytes, room, (size_t)n);
	return (int)n;
}

/* the kernel tells which namespace a socket is of to who has rights over that
 * namespace */
static int check_namespace(int netlink, int proc, struct err *e)
{
	cleanup_fd int fd = ioctl(netlink, SIOCGSKNS);
	struct stat of_socket, of_process;

	if (fd < 0 || fstat(fd, &of_socket) < 0 ||
	    fstatat(proc, "ns/net", &of_process, 0) < 0)
		return err_set(e, errno, "network: look at the socket's namespace");
	if (of_socket.st_dev != of_process.st_dev ||
	    of_socket.st_ino != of_process.st_ino)
		return err_say(e, EPERM,
			       "network: the socket is of another network namespace");
	return 0;
}

int network_open(int netlink, int proc, struct nl_sock **sk, struct err *e)
{
	int r = check_namespace(netlink, proc, e);
	struct nl_cb *cb = r < 0 ? NULL : nl_cb_alloc(NL_CB_DEFAULT);
	cleanup_fd int copy = cb ? fcntl(netlink, F_DUPFD_CLOEXEC, 3) : -1;

	*sk = cb && copy >= 0 ? nl_socket_alloc_cb(cb) : NULL;
	if (r == 0 && !*sk)
		r = err_set(e, errno, "network: make a socket");
	if (r == 0) {
		nl_cb_overwrite_recv(cb, receive);
		nlmsg_set_default_size(REQUEST_BYTES);
		if (nl_socket_set_fd(*sk, NETLINK_ROUTE, copy) < 0)
			r = err_say(e, EPERM, "network: the socket is no route socket");
		else
			(void)io_steal_fd(&copy);
	}
	nl_cb_put(cb);
	return r;
}

void network_close(struct nl_sock **sk)
{
	nl_socket_free(*sk);
	*sk = NULL;
}

int network_up(struct nl_sock *sk, struct err *e)
{
	struct ifinfomsg lo = { .ifi_index = NETWORK_LOOPBACK,
				.ifi_flags = IFF_UP,
				.ifi_change = IFF_UP };
	int r = nl_send_simple(sk, RTM_NEWLINK, NLM_F_ACK, &lo, sizeof(lo));

	if (r >= 0)
		r = nl_wait_for_ack(sk);
	return r < 0 ? network_failed(r, "set lo up", e) : 0;
}
