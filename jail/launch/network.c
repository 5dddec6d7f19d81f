/* SPDX-License-Identifier: MIT */
/*
 * network.c - a jail's network namespace, through a route socket: see network.h
 *
 * By libnl-route. The socket was opened in the namespace and is used from outside of it; the
 * kernel asks for the rights of both who opened it and who sends. Each list is one dump,
 * whose messages libnl-route parses one by one: its caches take 30 microseconds more.
 */
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <netlink/msg.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <netlink/route/route.h>

#include "init/io.h"
#include "jail/launch/network.h"

/* lo's, in each network namespace */
#define LOOPBACK_INDEX 1
/* enough for a request of ours: libnl's own room would be mapped and unmapped for each */
#define REQUEST_BYTES 256
#define TEXT_BYTES 192

static int failed(int r, const char *what, struct err *e)
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

/* the kernel tells which namespace a socket is of to who has rights over that namespace */
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
	struct rtnl_link *lo = rtnl_link_alloc(), *up = rtnl_link_alloc();
	int r = -NLE_NOMEM;

	if (lo && up) {
		rtnl_link_set_ifindex(lo, LOOPBACK_INDEX);
		rtnl_link_set_flags(up, IFF_UP);
		r = rtnl_link_change(sk, lo, up, 0);
	}
	rtnl_link_put(lo);
	rtnl_link_put(up);
	return r < 0 ? failed(r, "set lo up", e) : 0;
}

/* what is being listed, and for whom */
struct listing {
	enum network_kind kind;
	bool up;
	void (*entry)(void *arg, const char *text, bool planned);
	void *arg;
	int failed; /* libnl's error of a message that it could not parse */
};

static bool is_one_of(const char *text, const char *const *words)
{
	while (*words && strcmp(text, *words) != 0)
		words++;
	return *words;
}

/* Modules of tunnels give each namespace a device of their own, down, that nobody in it can
 * set up: see net.core.fb_tunnels_only_for_init_net in the kernel's sysctl/net.rst */
static const char *const fallback[] = { "tunl0",    "gre0",    "gretap0", "erspan0",
					"sit0",     "ip6tnl0", "ip6gre0", "ip_vti0",
					"ip6_vti0", NULL };

/* what kernels give lo when it comes up, some of them more of it than others */
static const char *const addresses[] = { "127.0.0.1/8", "::1", NULL };
static const char *const routes[] = { "local 127.0.0.0/8",
				      "local 127.0.0.1",
				      "broadcast 127.0.0.0",
				      "broadcast 127.255.255.255",
				      "local ::1",
				      "unicast ::1",
				      NULL };

static void list_link(struct nl_object *object, void *arg)
{
	const struct listing *l = arg;
	struct rtnl_link *link = (struct rtnl_link *)object;
	const char *name = rtnl_link_get_name(link);
	unsigned int flags = rtnl_link_get_flags(link);
	bool up = flags & IFF_UP;
	char text[TEXT_BYTES], words[TEXT_BYTES - IFNAMSIZ];

	if (!name)
		name = "";
	(void)snprintf(text, sizeof(text), "%s %s", name,
		       rtnl_link_flags2str((int)flags, words, sizeof(words)));
	l->entry(l->arg, text,
		 rtnl_link_get_ifindex(link) == LOOPBACK_INDEX
			 ? (flags & IFF_LOOPBACK) && up == l->up
			 : is_one_of(name, fallback) && !up);
}

static void list_address(struct nl_object *object, void *arg)
{
	const struct listing *l = arg;
	struct rtnl_addr *address = (struct rtnl_addr *)object;
	char text[TEXT_BYTES];

	(void)nl_addr2str(rtnl_addr_get_local(address), text, sizeof(text));
	l->entry(l->arg, text,
		 l->up && rtnl_addr_get_ifindex(address) == LOOPBACK_INDEX &&
			 is_one_of(text, addresses));
}

/* it leads to lo, which is the only link that is up */
static void list_route(struct rtnl_route *route, const struct listing *l)
{
	char text[TEXT_BYTES], type[32], to[TEXT_BYTES - 64];

	(void)snprintf(text, sizeof(text), "%s %s",
		       nl_rtntype2str(rtnl_route_get_type(route), type, sizeof(type)),
		       nl_addr2str(rtnl_route_get_dst(route), to, sizeof(to)));
	l->entry(l->arg, text, l->up && is_one_of(text, routes));
}

static int on_message(struct nl_msg *msg, void *arg)
{
	struct listing *l = arg;
	struct rtnl_route *route = NULL;
	int r;

	/* nl_msg_parse(3) knows routes only where their cache is linked */
	if (l->kind != NETWORK_ROUTES) {
		r = nl_msg_parse(msg, l->kind == NETWORK_LINKS ? list_link : list_address,
				 l);
	} else {
		r = rtnl_route_parse(nlmsg_hdr(msg), &route);
		if (r >= 0)
			list_route(route, l);
		rtnl_route_put(route);
	}
	if (r < 0)
		l->failed = r;
	return NL_OK;
}

int network_list(struct nl_sock *sk, enum network_kind kind, bool up,
		 void (*entry)(void *arg, const char *text, bool planned), void *arg,
		 struct err *e)
{
	static const struct {
		int request;
		size_t size; /* of its header, all zero */
	} rows[NETWORK_KINDS] = {
		[NETWORK_LINKS] = { RTM_GETLINK, sizeof(struct ifinfomsg) },
		[NETWORK_ADDRESSES] = { RTM_GETADDR, sizeof(struct ifaddrmsg) },
		[NETWORK_ROUTES] = { RTM_GETROUTE, sizeof(struct rtmsg) },
	};
	struct listing l = { kind, up, entry, arg, 0 };
	struct ifinfomsg header = { 0 }; /* the largest of the three */
	int r = nl_socket_modify_cb(sk, NL_CB_VALID, NL_CB_CUSTOM, on_message, &l);

	if (r >= 0)
		r = nl_send_simple(sk, rows[kind].request, NLM_F_DUMP, &header,
				   rows[kind].size);
	if (r >= 0)
		r = nl_recvmsgs_default(sk);
	if (r >= 0)
		r = l.failed;
	return r < 0 ? failed(r, "list it", e) : 0;
}
