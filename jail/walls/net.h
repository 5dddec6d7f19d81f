/* SPDX-License-Identifier: MIT */
/*
 * net.h - a way for the launcher into a new network namespace
 */
#ifndef STEPJAIL_JAIL_WALLS_NET_H
#define STEPJAIL_JAIL_WALLS_NET_H

#include "init/err.h"

/**
 * net_open() - Open a route socket in the calling process's network namespace
 * @netlink:	Gets the socket, close-on-exec: the launcher reads the namespace back with
 *		it
 *
 * See rtnetlink(7), and network.h for the launcher's part.
 *
 * Return: 0, or -errno
 */
int net_open(int *netlink, struct err *e);

#endif
