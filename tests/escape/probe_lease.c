/* SPDX-License-Identifier: MIT */
/*
 * probe_lease.c - what an earlier jail has left in a network namespace
 *
 * Each is two programs: one leaves something, and when its jail has ended, another looks
 * for it. Both have an end of one pair of sockets as stdin: somebody on the host helps
 * them. Of an ordinary user, each jail has a namespace of its own.
 */
#include "tests/escape/scene.h"

#include <arpa/inet.h>
#include <linux/in6.h>
#include <netinet/in.h>
#include <sys/un.h>

#define NETNS_COOKIE 71 /* SO_NETNS_COOKIE */

/* Is this the one that leaves? Both then know the marker. */
static bool leaves(char **argv, const char **marker)
{
	bool first = strcmp(probe_word(argv, 0, "a word"), "leave") == 0;

	*marker = argv[first];
	return first;
}

static struct sockaddr_un name_of(const char *marker, socklen_t *length)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	(void)snprintf(at.sun_path + 1, sizeof(at.sun_path) - 1, "%s", marker);
	*length =
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(marker));
	return at;
}

/* a socket with a name; in flight to whoever helps, it outlives its jail */
static _Noreturn void leave_socket(const char *marker)
{
	socklen_t length;
	struct sockaddr_un at = name_of(marker, &length);
	int sock = socket(AF_UNIX, SOCK_DGRAM, 0), to = dup(0);

	_exit(bind(sock, (struct sockaddr *)&at, length) < 0 || dup2(sock, 0) < 0 ||
	      !probe_send_stdin(to, 1));
}

static void reach(char **argv)
{
	const char *marker;
	socklen_t length;

	if (leaves(argv, &marker))
		leave_socket(marker);

	struct sockaddr_un to = name_of(marker, &length);

	door("send", sendto(socket(AF_UNIX, SOCK_DGRAM, 0), "x", 1, 0,
			    (struct sockaddr *)&to, length));
}

static void list(char **argv)
{
	const char *marker;

	if (leaves(argv, &marker))
		leave_socket(marker);
	door_word("/proc/self/net/unix", probe_file_has("/proc/self/net/unix", marker),
		  "not there");
}

/* the kernel keeps a label for its time to linger */
static void label(char **argv)
{
	struct in6_flowlabel_req label = { .flr_label = htonl(0x5ec2e),
					   .flr_action = IPV6_FL_A_GET,
					   .flr_share = IPV6_FL_S_EXCL,
					   .flr_flags = IPV6_FL_F_CREATE | IPV6_FL_F_EXCL,
					   .flr_expires = 60,
					   .flr_linger = 60 };
	int sock = socket(AF_INET6, SOCK_DGRAM, 0), r;
	const char *marker;

	if (sock < 0) {
		door("a socket of IPv6", sock);
		return;
	}
	((unsigned char *)&label.flr_dst)[15] = 1; /* ::1 */
	r = setsockopt(sock, IPPROTO_IPV6, IPV6_FLOWLABEL_MGR, &label, sizeof(label));
	if (leaves(argv, &marker))
		_exit(r < 0);
	door_word("a label", r < 0 && errno == EEXIST, "its own");
}

/* a counter of the Internet's protocols: what has no route */
static void count(char **argv)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(9) };
	int sock = socket(AF_INET, SOCK_DGRAM, 0);
	char text[8192], *values;
	const char *marker;

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (leaves(argv, &marker))
		_exit(sendto(sock, "x", 1, 0, (struct sockaddr *)&to, sizeof(to)) < 0);
	if (probe_read("/proc/self/net/snmp", text, sizeof(text)) < 0 ||
	    !(values = strstr(text, "\nIp: ")))
		probe_lacks("/proc/self/net/snmp");
	/* behind whether it forwards, and for how many hops */
	values += 5;
	for (int i = 0; i < 2; i++)
		(void)strtoul(values, &values, 10);
	while (*values == ' ')
		if (strtoul(values, &values, 10) != 0)
			break;
	door_word("a counter", *values != '\n', "all are 0");
}

static void compare(char **argv)
{
	uint64_t cookie = 0, other = 0;
	socklen_t size = sizeof(cookie);
	const char *marker;
	int r = getsockopt(0, SOL_SOCKET, NETNS_COOKIE, &cookie, &size);

	if (r == 0) {
		int sock = socket(AF_UNIX, SOCK_DGRAM, 0);

		r = getsockopt(sock, SOL_SOCKET, NETNS_COOKIE, &cookie, &size);
	}
	if (leaves(argv, &marker))
		_exit(send(0, &cookie, sizeof(cookie), 0) < 0);
	if (r < 0)
		door("SO_NETNS_COOKIE", r);
	else
		door_word("its number",
			  recv(0, &other, sizeof(other), MSG_DONTWAIT) == sizeof(other) &&
				  other == cookie,
			  "another");
}

#define ROW(name, what, walls, act)                                                      \
	{                                                                                \
		name, what, walls, &scene_left, act, 0, NULL                             \
	}

static const struct probe probes[] = {
	ROW("lease-name", "send to a unix socket that an earlier jail has left",
	    W(LEASE) | W(LANDLOCK), reach),
	ROW("lease-list", "list sockets that an earlier jail has left", W(LEASE), list),
	ROW("lease-label", "find flow labels that an earlier jail has made", W(SHUT),
	    label),
	ROW("lease-counter", "find counters that an earlier jail has moved", W(SHUT),
	    count),
	ROW("lease-cookie", "tell that an earlier jail had the same network namespace",
	    W(SHUT), compare),
};

AREA(lease, "leased namespaces", probes);
