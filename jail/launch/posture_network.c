/* SPDX-License-Identifier: MIT */
/*
 * posture_network.c - links, addresses and routes of the waiting program's network namespace,
 * as the kernel tells them: see posture.h, network.h
 */
#include <string.h>

#include "jail/launch/network.h"
#include "jail/launch/posture.h"

struct reading {
	const struct look *l;
	struct err *e;
	const char *kind;
	bool up;
	int result;         /* -EPERM once something is not as planned */
	unsigned int count; /* of this kind */
};

static void read_entry(void *arg, const char *text, bool planned)
{
	struct reading *r = arg;

	if (r->result < 0)
		return;
	if (!planned)
		r->result = posture_refuse(
			r->kind, text, r->up ? "lo up, alone" : "lo down, alone", r->e);
	posture_put(r->l, r->count++ ? "," : "");
	posture_string(r->l, text);
}

/* lo is set up here: only now is the socket known to be of the jail's namespace */
int posture_network(const struct look *l, struct err *e)
{
	static const char *const kinds[NETWORK_KINDS] = {
		[NETWORK_LINKS] = "links",
		[NETWORK_ADDRESSES] = "addresses",
		[NETWORK_ROUTES] = "routes",
	};
	struct reading read = { l, e, NULL, l->jail->plan->net == NET_LOOPBACK, 0, 0 };
	cleanup_network struct nl_sock *sk = NULL;
	int r = network_open(l->jail->netlink, l->dir, &sk, e);

	if (r == 0 && read.up)
		r = network_up(sk, e);
	for (enum network_kind i = 0; r == 0 && i < NETWORK_KINDS; i++) {
		read.kind = kinds[i];
		read.count = 0;
		posture_put(l, "%s\"%s\":[", i ? "," : "{", kinds[i]);
		r = network_list(sk, i, read.up, read_entry, &read, e);
		if (r == 0)
			r = read.result;
		/* no namespace is without lo, and lo that is up has an address */
		if (r == 0 && read.count == 0 && (read.up || i == NETWORK_LINKS))
			r = posture_refuse(kinds[i], "", "lo's own", e);
		posture_put(l, "]");
	}
	posture_put(l, "}");
	return r;
}
