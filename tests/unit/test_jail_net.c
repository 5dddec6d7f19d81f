/* SPDX-License-Identifier: MIT */
/*
 * test_jail_net.c - a new network namespace, as the launcher sets it up and reads it back
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <netlink/route/route.h>

#include "init/io.h"
#include "jail/launch/network.h"
#include "jail/launch/posture.h"
#include "jail/walls/caps.h"
#include "jail/walls/gate.h"
#include "tests/unit/suites.h"

/* what the read-back comes to in the calling process's own namespace */
static int look(enum plan_net net, int netlink, char **json, struct err *e)
{
	const struct plan plan = { .net = net, .net_path = "/run/netns/x" };
	const struct jail jail = { .plan = &plan };
	const struct gate_ready ready = { .fd[GATE_NETLINK] = netlink };
	size_t size;
	FILE *out = open_memstream(json, &size);
	int dir = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct look l = {
		.jail = &jail, .ready = &ready, .dir = dir, .out = out, .name = "network"
	};

	MUST(out && dir >= 0);

	int r = posture_network(&l, e);

	(void)fclose(out);
	(void)close(dir);
	return r;
}

/* and then the reason is one line that has these words */
static void must_refuse(enum plan_net net, int netlink, const char *words)
{
	struct err e = { 0 };
	char *json = NULL;
	int before = unit_fds();

	MUST(look(net, netlink, &json, &e) == -EPERM);
	if (!strstr(e.text, words))
		(void)fprintf(stderr, "%s: %s\n", words, e.text);
	MUST(strstr(e.text, words) != NULL);
	MUST(unit_fds() == before);
	free(json);
}

static int open_here(void)
{
	struct err e;
	int fd[GATE_FDS];

	MUST(gate_open_sockets(fd, false, &e) == 0);
	MUST(fcntl(fd[GATE_NETLINK], F_GETFD) == FD_CLOEXEC);
	return fd[GATE_NETLINK];
}

static void as_planned(void *arg)
{
	struct err e = { 0 };
	char *json;

	(void)arg;
	if (!unit_namespace(CLONE_NEWNET))
		return;

	int netlink = open_here(), before = unit_fds();

	MUST(look(NET_NONE, netlink, &json, &e) == 0);
	MUST(strcmp(json,
		    "{\"leased\":false,\"entered\":null,\"links\":[\"lo loopback\"],"
		    "\"addresses\":[],\"routes\":[]}") == 0);
	free(json);
	for (int again = 0; again < 2; again++) {
		MUST(look(NET_LOOPBACK, netlink, &json, &e) == 0);
		MUST(strstr(json,
			    "{\"leased\":false,\"entered\":null,\"links\":[\"lo loopback,up,running,lowerup\"],"
			    "\"addresses\":[\"127.0.0.1/8\"") == json);
		MUST(strstr(json, "\"local 127.0.0.0/8\"") != NULL);
		free(json);
	}
	/* the launcher goes on, and the namespace is not kept by it */
	MUST(unit_fds() == before);
	/* and where it was to be down, up is not as planned */
	must_refuse(NET_NONE, netlink, "links reads 'lo loopback,up,");
}

START_TEST(a_new_namespace_is_as_planned)
{
	unit_child(as_planned, NULL);
}
END_TEST

static struct nl_sock *route_socket(void)
{
	struct nl_sock *sk = nl_socket_alloc();

	MUST(sk && nl_connect(sk, NETLINK_ROUTE) == 0);
	return sk;
}

/* any type that this kernel has, and that may be made here */
static bool make_link(struct nl_sock *sk, const char *name)
{
	static const char *const types[] = { "dummy", "bridge", "ifb", "veth" };
	int r = -1;

	for (size_t i = 0; r < 0 && i < COUNT(types); i++) {
		struct rtnl_link *link = rtnl_link_alloc();

		rtnl_link_set_name(link, name);
		MUST(rtnl_link_set_type(link, types[i]) == 0);
		r = rtnl_link_add(sk, link, NLM_F_CREATE | NLM_F_EXCL);
		rtnl_link_put(link);
	}
	if (r < 0)
		unit_skip("no kind of link can be made on this kernel");
	return r == 0;
}

static void another_link(void *arg)
{
	struct err e = { 0 };
	char *json;

	(void)arg;
	if (!unit_namespace(CLONE_NEWNET))
		return;

	struct nl_sock *sk = route_socket();
	int netlink = open_here();

	/* what a tunnel's module puts into each namespace is harmless, and told */
	if (!make_link(sk, "sit0"))
		return;
	MUST(look(NET_NONE, netlink, &json, &e) == 0);
	MUST(strstr(json, "\"sit0 ") != NULL);
	MUST(make_link(sk, "eth0"));
	must_refuse(NET_NONE, netlink, "links reads 'eth0 ");
	must_refuse(NET_LOOPBACK, netlink, "links reads 'eth0 ");
	/* in one that somebody else has made, what is there is told */
	free(json);
	MUST(look(NET_ENTERED, netlink, &json, &e) == 0);
	MUST(strstr(json, "{\"leased\":false,\"entered\":\"/run/netns/x\",\"links\":") ==
	     json);
	MUST(strstr(json, "\"eth0 ") != NULL);
}

START_TEST(another_link_is_refused)
{
	unit_child(another_link, NULL);
}
END_TEST

static void set_up(struct nl_sock *sk, const char *name)
{
	struct rtnl_link *link, *change = rtnl_link_alloc();

	MUST(rtnl_link_get_kernel(sk, 0, name, &link) == 0);
	rtnl_link_set_flags(change, (unsigned int)rtnl_link_str2flags("up"));
	MUST(rtnl_link_change(sk, link, change, 0) == 0);
	rtnl_link_put(link);
	rtnl_link_put(change);
}

static void a_tunnel_that_is_up(void *arg)
{
	(void)arg;
	if (!unit_namespace(CLONE_NEWNET))
		return;

	struct nl_sock *sk = route_socket();
	int netlink = open_here();

	if (!make_link(sk, "sit0"))
		return;
	set_up(sk, "sit0");
	must_refuse(NET_NONE, netlink, "links reads 'sit0 ");
}

START_TEST(a_tunnel_that_is_up_is_refused)
{
	unit_child(a_tunnel_that_is_up, NULL);
}
END_TEST

static void add_address(struct nl_sock *sk, const char *text)
{
	struct rtnl_addr *address = rtnl_addr_alloc();
	struct nl_addr *local;

	MUST(nl_addr_parse(text, AF_UNSPEC, &local) == 0);
	rtnl_addr_set_ifindex(address, 1);
	MUST(rtnl_addr_set_local(address, local) == 0);
	MUST(rtnl_addr_add(sk, address, 0) == 0);
	rtnl_addr_put(address);
	nl_addr_put(local);
}

static void another_address(void *arg)
{
	(void)arg;
	if (!unit_namespace(CLONE_NEWNET))
		return;

	struct nl_sock *sk = route_socket();
	int netlink = open_here();

	add_address(sk, "10.1.2.3/8");
	must_refuse(NET_NONE, netlink, "addresses reads '10.1.2.3/8'");
	must_refuse(NET_LOOPBACK, netlink, "addresses reads '10.1.2.3/8'");
}

START_TEST(another_address_is_refused)
{
	unit_child(another_address, NULL);
}
END_TEST

static void another_route(void *arg)
{
	struct err e = { 0 };
	char *json;

	(void)arg;
	if (!unit_namespace(CLONE_NEWNET))
		return;

	struct nl_sock *sk = route_socket();
	struct rtnl_route *route = rtnl_route_alloc();
	struct rtnl_nexthop *hop = rtnl_route_nh_alloc();
	struct nl_addr *to;
	int netlink = open_here();

	MUST(look(NET_LOOPBACK, netlink, &json, &e) == 0);
	MUST(nl_addr_parse("10.0.0.0/8", AF_INET, &to) == 0);
	MUST(rtnl_route_set_dst(route, to) == 0);
	rtnl_route_nh_set_ifindex(hop, 1);
	rtnl_route_add_nexthop(route, hop);
	MUST(rtnl_route_add(sk, route, 0) == 0);
	must_refuse(NET_LOOPBACK, netlink, "routes reads 'unicast 10.0.0.0/8'");
}

START_TEST(another_route_is_refused)
{
	unit_child(another_route, NULL);
}
END_TEST

static void another_socket(void *arg)
{
	struct err e = { 0 };
	char *json;
	int pair[2];

	(void)arg;
	if (!unit_namespace(CLONE_NEWNET))
		return;

	int other = open_here(), generic = -1;

	MUST(unshare(CLONE_NEWNET) == 0);
	must_refuse(NET_NONE, other, "of another network namespace");
	must_refuse(NET_ENTERED, other, "of another network namespace");
	/* here, but of another kind */
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	must_refuse(NET_NONE, pair[0], "no route socket");
	generic = socket(AF_NETLINK, SOCK_RAW, NETLINK_GENERIC);
	if (generic >= 0)
		must_refuse(NET_NONE, generic, "no route socket");
	MUST(look(NET_NONE, -1, &json, &e) == -EBADF);
	MUST(look(NET_NONE, open("/dev/null", O_RDONLY), &json, &e) == -ENOTTY);
}

START_TEST(another_socket_is_refused)
{
	unit_child(another_socket, NULL);
}
END_TEST

/* a message that is there already, of another process, is not the kernel's answer */
static void a_forged_answer(void *arg)
{
	(void)arg;
	if (!unit_namespace(CLONE_NEWNET))
		return;

	int netlink = open_here();
	struct sockaddr_nl name = { .nl_family = AF_NETLINK };
	socklen_t size = sizeof(name);
	struct nlmsghdr done = { .nlmsg_len = sizeof(done), .nlmsg_type = NLMSG_DONE };
	struct nl_sock *sk = route_socket();

	MUST(bind(netlink, (struct sockaddr *)&name, sizeof(name)) == 0);
	MUST(getsockname(netlink, (struct sockaddr *)&name, &size) == 0);
	MUST(sendto(nl_socket_get_fd(sk), &done, sizeof(done), 0,
		    (struct sockaddr *)&name, size) == (ssize_t)sizeof(done));
	{
		struct err e = { 0 };
		char *json;

		MUST(look(NET_NONE, netlink, &json, &e) == -EIO);
		MUST(strncmp(e.text, "network: list it: ", 18) == 0);
	}
}

START_TEST(only_the_kernel_is_believed)
{
	unit_child(a_forged_answer, NULL);
}
END_TEST

static void up_without_rights(void *arg)
{
	struct caps caps;
	struct err e = { 0 };
	char *json;

	(void)arg;
	if (!unit_namespace(CLONE_NEWNET))
		return;

	int netlink = open_here();

	MUST(caps_make(&caps, &e) == 0);
	MUST(caps_drop_bounding(&e) == 0 && caps_drop_all(&caps, &e) == 0);
	MUST(look(NET_LOOPBACK, netlink, &json, &e) == -EPERM);
	MUST(e.errnum == EPERM && strncmp(e.text, "network: ", 9) == 0);
}

START_TEST(a_refusal_is_an_error)
{
	unit_child(up_without_rights, NULL);
}
END_TEST

Suite *jail_net_suite(void)
{
	Suite *s = suite_create("jail net");
	TCase *c = tcase_create("net");

	tcase_add_test(c, a_new_namespace_is_as_planned);
	tcase_add_test(c, another_link_is_refused);
	tcase_add_test(c, a_tunnel_that_is_up_is_refused);
	tcase_add_test(c, another_address_is_refused);
	tcase_add_test(c, another_route_is_refused);
	tcase_add_test(c, another_socket_is_refused);
	tcase_add_test(c, only_the_kernel_is_believed);
	tcase_add_test(c, a_refusal_is_an_error);
	suite_add_tcase(s, c);
	return s;
}
