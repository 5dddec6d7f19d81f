/* SPDX-License-Identifier: MIT */
/*
 * net.c - a way for the launcher into a new network namespace: see net.h
 */
#include <errno.h>
#include <sys/socket.h>

#include <linux/netlink.h>

#include "jail/walls/net.h"

int net_open(int *netlink, struct err *e)
{
	*netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	return *netlink < 0 ? err_set(e, errno, "net: open a route socket") : 0;
}
