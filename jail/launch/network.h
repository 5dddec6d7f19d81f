/* SPDX-License-Identifier: MIT */
/*
 * network.h - a jail's network namespace, through a route socket that was opened in it
 */
#pragma once

#include <netlink/netlink.h>

#include "init/err.h"

#define NETWORK_LOOPBACK 1 /* lo's index, in each network namespace */

/**
 * network_open() - Have libnl use a socket that a jail's child opened
 * @netlink:	The caller's; a copy of it is used
 * @proc:	Folder of a process in /proc, whose network namespace the socket must be
 *		of
 * @sk:		Gets what network_close() ends
 *
 * Messages are believed of the kernel alone, and nothing is waited for: the kernel
 * answers before sendmsg(2) returns. See netlink(7), rtnetlink(7).
 *
 * Return: 0; -EPERM for any other socket; or -errno
 */
int network_open(int netlink, int proc, struct nl_sock **sk, struct err *e);

/** network_close() - End what network_open() made, or NULL */
void network_close(struct nl_sock **sk);

#define cleanup_network __attribute__((cleanup(network_close)))

/**
 * network_up() - Set lo up; the kernel then gives lo its addresses and routes
 *
 * Needs CAP_NET_ADMIN in the namespace's owner, which the launcher made.
 *
 * Return: 0, or -errno
 */
int network_up(struct nl_sock *sk, struct err *e);

/** network_failed() - Say which of libnl's errors @r is, and of what; Return: -errno */
int network_failed(int r, const char *what, struct err *e);
