/* SPDX-License-Identifier: MIT */
/*
 * probe_socket.c - sockets: to the host, and into the kernel
 */
#include "tests/escape/scene.h"

#include <arpa/inet.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>

/* headers of the kernel's that libc's do not go together with */
#define IPT_SO_SET_REPLACE 64
#define IPT_REPLACE_BYTES 96
#define IOC_WATCH_QUEUE_SET_SIZE _IO('W', 0x60)
#define IOC_WATCH_QUEUE_SET_FILTER _IO('W', 0x61)

static struct sockaddr_un name(const char *marker, socklen_t *length)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	(void)snprintf(at.sun_path + 1, sizeof(at.sun_path) - 1, "%s", marker);
	*length =
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(marker));
	return at;
}

/* argv: the socket's name, without its NUL */
static void abstract_stream(char **argv)
{
	socklen_t length;
	struct sockaddr_un to = name(probe_word(argv, 0, "a name"), &length);
	int sock = socket(AF_UNIX, SOCK_STREAM, 0);

	door("connect", connect(sock, (struct sockaddr *)&to, length));
}

static void abstract_datagram(char **argv)
{
	socklen_t length;
	struct sockaddr_un to = name(probe_word(argv, 0, "a name"), &length);
	int sock = socket(AF_UNIX, SOCK_DGRAM, 0);

	door("send", sendto(sock, "x", 1, 0, (struct sockaddr *)&to, length));
}

/* argv: the port */
static void loopback(char **argv)
{
	struct sockaddr_in to = { .sin_family = AF_INET };

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	to.sin_port = htons((uint16_t)probe_number(argv, 0, "a port"));
	door("connect", connect(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&to,
				sizeof(to)));
	to.sin_addr.s_addr = INADDR_ANY;
	door("connect to any", connect(socket(AF_INET, SOCK_STREAM, 0),
				       (struct sockaddr *)&to, sizeof(to)));
}

static void loopback6(char **argv)
{
	struct sockaddr_in6 to = { .sin6_family = AF_INET6,
				   .sin6_addr = IN6ADDR_LOOPBACK_INIT };

	to.sin6_port = htons((uint16_t)probe_number(argv, 0, "a port"));
	door("connect", connect(socket(AF_INET6, SOCK_STREAM, 0), (struct sockaddr *)&to,
				sizeof(to)));
}

/* a connected datagram socket sends nothing: it only asks for a route */
static void route(const char *what, const char *address)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(80) };

	(void)inet_pton(AF_INET, address, &to.sin_addr);
	door(what,
	     connect(socket(AF_INET, SOCK_DGRAM, 0), (struct sockaddr *)&to, sizeof(to)));
}

static void outward(char **argv)
{
	(void)argv;
	route("metadata service", "169.254.169.254");
	route("cluster service", "10.96.0.1");
	route("the world", "192.0.2.1");
}

static void interfaces(char **argv)
{
	struct if_nameindex *list = if_nameindex();
	int sock = socket(AF_INET, SOCK_DGRAM, 0);
	int found = 0;

	(void)argv;
	for (unsigned int i = 1; i < 64; i++) {
		struct ifreq request = { .ifr_ifindex = (int)i };

		if (ioctl(sock, SIOCGIFNAME, &request) == 0 &&
		    strcmp(request.ifr_name, "lo") != 0)
			found++;
	}
	for (struct if_nameindex *at = list; at && at->if_index; at++)
		found += strcmp(at->if_name, "lo") != 0;
	door_word("an interface but lo", found > 0, "unseen");
	door_word("/proc/net/dev", probe_file_has("/proc/self/net/dev", "eth"), "unseen");
}

struct kind {
	const char *name;
	int family, type, protocol;
};

/* the row's data: sockets, NULL at the end */
static void make(char **argv)
{
	const struct kind *k = probe_self->data;
	bool there = false;

	(void)argv;
	for (; k->name; k++) {
		int fd = socket(k->family, k->type, k->protocol);

		/* a family that the kernel lacks; with the filter, it is refused first */
		if (fd < 0 && (errno == EAFNOSUPPORT || errno == EPROTONOSUPPORT ||
			       errno == ESOCKTNOSUPPORT))
			continue;
		there = true;
		door(k->name, fd);
	}
	if (!there)
		probe_lacks("these families in this kernel");
}

static const struct kind netlink[] = {
	{ "route", AF_NETLINK, SOCK_RAW, NETLINK_ROUTE },
	{ "audit", AF_NETLINK, SOCK_RAW, NETLINK_AUDIT },
	{ "sock_diag", AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG },
	{ "uevent", AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT },
	{ "generic", AF_NETLINK, SOCK_RAW, NETLINK_GENERIC },
	{ NULL, 0, 0, 0 },
};
static const struct kind netfilter[] = {
	{ "netfilter", AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER },
	{ "xfrm", AF_NETLINK, SOCK_RAW, NETLINK_XFRM },
	{ NULL, 0, 0, 0 },
};
static const struct kind crypto[] = {
	{ "AF_ALG", 38, SOCK_SEQPACKET, 0 },
	{ NULL, 0, 0, 0 },
};
static const struct kind vsock[] = {
	{ "AF_VSOCK", 40, SOCK_STREAM, 0 },
	{ "AF_VSOCK datagram", 40, SOCK_DGRAM, 0 },
	{ NULL, 0, 0, 0 },
};
static const struct kind raw[] = {
	{ "packet", 17, SOCK_RAW, 0 },      { "packet datagram", 17, SOCK_DGRAM, 0 },
	{ "XDP", 44, SOCK_RAW, 0 },         { "IP", AF_INET, SOCK_RAW, IPPROTO_ICMP },
	{ "IPv6", AF_INET6, SOCK_RAW, 58 }, { NULL, 0, 0, 0 },
};
static const struct kind rare[] = {
	{ "AF_PPPOX", 24, SOCK_STREAM, 0 },
	{ "AF_BLUETOOTH", 31, SOCK_RAW, 1 },
	{ "AF_TIPC", 30, SOCK_RDM, 0 },
	{ "AF_CAN", 29, SOCK_RAW, 1 },
	{ "AF_RDS", 21, SOCK_SEQPACKET, 0 },
	{ "AF_KEY", 15, SOCK_RAW, 2 },
	{ "AF_AX25", 3, SOCK_DGRAM, 0 },
	{ "AF_X25", 9, SOCK_SEQPACKET, 0 },
	{ "AF_NFC", 39, SOCK_SEQPACKET, 0 },
	{ "AF_QIPCRTR", 42, SOCK_DGRAM, 0 },
	{ "AF_SMC", 43, SOCK_STREAM, 0 },
	{ "AF_LLC", 26, SOCK_DGRAM, 0 },
	{ "AF_PHONET", 35, SOCK_DGRAM, 0 },
	{ "AF_KCM", 41, SOCK_DGRAM, 0 },
	{ "AF_IEEE802154", 36, SOCK_DGRAM, 0 },
	{ "AF_MCTP", 45, SOCK_DGRAM, 0 },
	{ NULL, 0, 0, 0 },
};

/* CVE-2021-22555 and its like: tables of iptables, replaced by setsockopt */
static void tables(char **argv)
{
	char table[IPT_REPLACE_BYTES] = "filter";
	int sock = socket(AF_INET, SOCK_STREAM, 0);
	int r;

	(void)argv;
	if (sock < 0) {
		door("a socket", sock);
		return;
	}
	r = setsockopt(sock, IPPROTO_IP, IPT_SO_SET_REPLACE, table, sizeof(table));
	if (r < 0 && errno == ENOPROTOOPT)
		probe_lacks("iptables in this kernel");
	door_reach("IPT_SO_SET_REPLACE", r);
}

/* credentials that the kernel vouches for to whoever is at the other end */
static void credentials(char **argv)
{
	char space[CMSG_SPACE(sizeof(struct ucred))] = { 0 };
	struct iovec part = { space, 1 };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = space,
				  .msg_controllen = sizeof(space) };
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);
	struct ucred claim = { .pid = getpid(), .uid = 0, .gid = 0 };
	int ends[2];

	(void)argv;
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) < 0)
		probe_lacks("a pair of sockets");
	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_CREDENTIALS;
	head->cmsg_len = CMSG_LEN(sizeof(claim));
	memcpy(CMSG_DATA(head), &claim, sizeof(claim));
	door("user 0", sendmsg(ends[0], &message, 0));
	claim.uid = geteuid();
	claim.gid = getegid();
	claim.pid = 1;
	memcpy(CMSG_DATA(head), &claim, sizeof(claim));
	door("process 1", sendmsg(ends[0], &message, 0));
}

/* CVE-2022-0995: a pipe for the kernel's notifications */
static void notifications(char **argv)
{
	int ends[2];

	(void)argv;
	if (syscall(SYS_pipe2, ends, O_EXCL) < 0)
		probe_lacks("notification pipes in this kernel");
	door("size of its queue", ioctl(ends[0], IOC_WATCH_QUEUE_SET_SIZE, 8));
	door("its filter", ioctl(ends[0], IOC_WATCH_QUEUE_SET_FILTER, NULL));
}

/* requests of the kernel's network code: interfaces, routes, bridges */
static void requests(char **argv)
{
	struct ifreq lo = { .ifr_name = "lo" };
	int sock = socket(AF_INET, SOCK_DGRAM, 0);

	(void)argv;
	door("SIOCGIFFLAGS", ioctl(sock, SIOCGIFFLAGS, &lo));
	door("SIOCGIFINDEX", ioctl(sock, SIOCGIFINDEX, &lo));
	door("SIOCETHTOOL", ioctl(sock, 0x8946, &lo) < 0 && errno == EPERM ? -1 : 0);
}

#define ROW(name, what, data)                                                            \
	{                                                                                \
		name, what, W(SECCOMP), NULL, make, CONTROL, data                        \
	}

/* as many copies of stdin in flight as there may be; the scene goes on from there */
static void flight(char **argv)
{
	int ends[2], sent = 0;
	char byte;

	(void)argv;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
		probe_lacks("a socket pair");
	while (sent < 16 && probe_send_stdin(ends[0], PROBE_COPIES_MAX))
		sent++;
	if (sent == 0)
		probe_lacks("fds in flight");
	(void)puts("ready");
	(void)!read(0, &byte, 1);
	door_word("they are in flight", false, "flying");
}

static const struct probe probes[] = {
	{ "abstract-stream", "connect to an abstract unix socket of the host",
	  W(NET) | W(LANDLOCK), &scene_abstract, abstract_stream, 0, NULL },
	{ "abstract-datagram", "send to an abstract unix socket of the host",
	  W(NET) | W(LANDLOCK), &scene_abstract_datagram, abstract_datagram, 0, NULL },
	{ "host-loopback", "connect to a TCP port on the host's loopback",
	  W(NET) | W(LANDLOCK), &scene_loopback, loopback, 0, NULL },
	{ "host-loopback6", "connect to a TCP port on the host's IPv6 loopback",
	  W(NET) | W(LANDLOCK), &scene_loopback6, loopback6, 0, NULL },
	{ "outward", "find a route out: metadata service, cluster, world", W(NET), NULL,
	  outward, 0, NULL },
	{ "interfaces", "list the host's network interfaces", W(NET) | W(SECCOMP), NULL,
	  interfaces, 0, NULL },
	ROW("netlink", "netlink sockets: routes, audit, other sockets", netlink),
	ROW("netfilter", "netfilter's netlink: nf_tables, xfrm", netfilter),
	{ "iptables", "replace a table of iptables (CVE-2021-22555)", W(CAPS),
	  &scene_namespaces, tables, 0, NULL },
	ROW("af-alg", "the kernel's crypto by AF_ALG sockets", crypto),
	ROW("vsock", "vsock, to a hypervisor that no namespace divides from", vsock),
	{ "raw-sockets", "raw and packet sockets", W(SECCOMP) | W(CAPS),
	  &scene_namespaces, make, 0, raw },
	ROW("rare-sockets", "families that load modules: TIPC, CAN, RDS, X.25", rare),
	{ "forged-credentials", "forge the credentials that a unix socket passes on",
	  W(CAPS) | W(USERS), &scene_namespaces, credentials, 0, NULL },
	{ "fd-flight", "hold fds in flight until no other jail of the user starts",
	  W(LISTENER) | W(IDS), &scene_flight, flight, 0, NULL },
	{ "watch-queue", "pipes for the kernel's notifications (CVE-2022-0995)",
	  W(SECCOMP), NULL, notifications, CONTROL, NULL },
	{ "socket-ioctl", "network ioctls on a socket", W(SECCOMP), NULL, requests,
	  CONTROL, NULL },
};

AREA(socket, "sockets", probes);
