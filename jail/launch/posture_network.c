/* SPDX-License-Identifier: MIT */
/*
 * posture_network.c - links, addresses and routes of the waiting program's network
 * namespace, as the kernel tells them: see posture.h, network.h
 *
 * Each list is one dump. libnl-route parses its messages one by one, because libnl's
 * caches take 30 microseconds more.
 */
#include <net/if.h>
#include <string.h>

#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <netlink/route/route.h>

#include "jail/launch/network.h"
#include "jail/launch/posture.h"

#define TEXT_BYTES 192

/* what is listed: links, addresses or routes */
struct kind {
	const char *name; /* in the report */
	int request;
	size_t size;                                       /* of its header, all zero */
	void (*take)(struct nl_object *object, void *arg); /* NULL: of routes */
};

/* one of the lists, while the kernel tells it */
struct listing {
	const struct look *look;
	const struct kind *kind;
	bool up;            /* whether lo is planned to be up */
	unsigned int count; /* of entries */
	int refused;        /* -EPERM once an entry is not as planned */
	int failed;         /* libnl's error of a message that it could not parse */
	struct err *e;
};

static void tell(struct listing *l, const char *text, bool planned)
{
	if (l->refused < 0)
		return;
	if (!planned && l->look->jail->plan->net != NET_ENTERED)
		l->refused =
			posture_refuse(l->kind->name, text,
				       l->up ? "lo up, alone" : "lo down, alone", l->e);
	json_after(l->count++ ? "," : "", text, l->look->out);
}

/* Modules of tunnels give each namespace a device of their own, down, that nobody in it
 * can set up: see net.core.fb_tunnels_only_for_init_net in the kernel's sysctl/net.rst */
static const char fallback[] =
	"tunl0 gre0 gretap0 erspan0 sit0 ip6tnl0 ip6gre0 ip_vti0 ip6_vti0";

/* what kernels give lo when it comes up, some of them more of it than others */
static const char addresses[] = "127.0.0.1/8,::1";
static const char routes[] = "local 127.0.0.0/8,local 127.0.0.1,broadcast 127.0.0.0,"
			     "broadcast 127.255.255.255,local ::1,unicast ::1";

static void list_link(struct nl_object *object, void *arg)
{
	struct listing *l = arg;
	struct rtnl_link *link = (struct rtnl_link *)object;
	const char *name = rtnl_link_get_name(link);
	unsigned int flags = rtnl_link_get_flags(link);
	bool up = flags & IFF_UP;
	char text[TEXT_BYTES], words[TEXT_BYTES - IFNAMSIZ];

	if (!name)
		name = "?";
	(void)snprintf(text, sizeof(text), "%s %s", name,
		       rtnl_link_flags2str((int)flags, words, sizeof(words)));
	tell(l, text,
	     rtnl_link_get_ifindex(link) == NETWORK_LOOPBACK
		     ? (flags & IFF_LOOPBACK) && up == l->up
		     : procfs_lists(fallback, name, " ") && !up);
}

static void list_address(struct nl_object *object, void *arg)
{
	struct listing *l = arg;
	struct rtnl_addr *address = (struct rtnl_addr *)object;
	char text[TEXT_BYTES];

	(void)nl_addr2str(rtnl_addr_get_local(address), text, sizeof(text));
	tell(l, text,
	     l->up && rtnl_addr_get_ifindex(address) == NETWORK_LOOPBACK &&
		     procfs_lists(addresses, text, ","));
}

/* it leads to lo, which is the only link that is up */
static void list_route(struct rtnl_route *route, struct listing *l)
{
	char text[TEXT_BYTES], type[32], to[TEXT_BYTES - 64];

	(void)snprintf(text, sizeof(text), "%s %s",
		       nl_rtntype2str(rtnl_route_get_type(route), type, sizeof(type)),
		       nl_addr2str(rtnl_route_get_dst(route), to, sizeof(to)));
	tell(l, text, l->up && procfs_lists(routes, text, ","));
}

static int on_message(struct nl_msg *msg, void *arg)
{
	struct listing *l = arg;
	struct rtnl_route *route = NULL;
	int r;

	/* nl_msg_parse(3) knows routes only where their cache is linked */
	if (l->kind->take) {
		r = nl_msg_parse(msg, l->kind->take, l);
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

static const struct kind kinds[] = {
	{ "links", RTM_GETLINK, sizeof(struct ifinfomsg), list_link },
	{ "addresses", RTM_GETADDR, sizeof(struct ifaddrmsg), list_address },
	{ "routes", RTM_GETROUTE, sizeof(struct rtmsg), NULL },
};

static int list(struct nl_sock *sk, struct listing *l)
{
	struct ifinfomsg header = { 0 }; /* the largest of the three */
	int r = nl_socket_modify_cb(sk, NL_CB_VALID, NL_CB_CUSTOM, on_message, l);

	if (r >= 0)
		r = nl_send_simple(sk, l->kind->request, NLM_F_DUMP, &header,
				   l->kind->size);
	if (r >= 0)
		r = nl_recvmsgs_default(sk);
	if (r >= 0)
		r = l->failed;
	return r < 0 ? network_failed(r, "list it", l->e) : l->refused;
}

/* lo is set up here: only now is the socket known to be of the jail's namespace */
int posture_network(const struct look *l, struct err *e)
{
	const struct plan *p = l->jail->plan;
	bool up = p->net == NET_LOOPBACK;
	cleanup_network struct nl_sock *sk = NULL;
	int r = network_open(l->ready->fd[GATE_NETLINK], l->dir, &sk, e);

	(void)fprintf(l->out, "{\"leased\":%s",
		      l->jail->lease.inside && p->net != NET_ENTERED ? "true" : "false");
	json_after(",\"entered\":", p->net == NET_ENTERED ? p->net_path : NULL, l->out);
	if (r == 0 && up)
		r = network_up(sk, e);
	for (size_t i = 0; r == 0 && i < COUNT(kinds); i++) {
		struct listing one = { .look = l, .kind = &kinds[i], .up = up, .e = e };

		(void)fprintf(l->out, ",\"%s\":[", kinds[i].name);
		r = list(sk, &one);
		/* no namespace is without lo, and lo that is up has an address */
		if (r == 0 && one.count == 0 && (up || i == 0))
			r = posture_refuse(kinds[i].name, "", "lo's own", e);
		(void)fprintf(l->out, "]");
	}
	(void)fprintf(l->out, "}");
	return r;
}
