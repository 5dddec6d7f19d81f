/* SPDX-License-Identifier: MIT */
/*
 * net.h - the loopback interface of a new network namespace
 */
#ifndef STEPJAIL_JAIL_WALLS_NET_H
#define STEPJAIL_JAIL_WALLS_NET_H

#include "init/err.h"

/**
 * net_loopback_up() - Set lo up in the calling process's network namespace
 *
 * See netdevice(7), SIOCSIFFLAGS.
 *
 * Return: 0, or -errno
 */
int net_loopback_up(struct err *e);

#endif
