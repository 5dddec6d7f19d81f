/* SPDX-License-Identifier: MIT */
/*
 * start.h - a jail's one way out: the proxy of --allow-host, as its jail's launcher sees
 * it
 *
 * The jail has loopback alone, and on PROXY_PORT a socket that listens, which came
 * through the gate (walls/gate.h). The proxy, stepjail-egress (jail/egress/proxy/), is a
 * process outside with that socket: before it accepts anything from it, it has confined
 * itself, see proxy/confine.c. What it holds: that socket, the log, a socket whose end of
 * file ends it, and the secrets of --secret-header. As root, an id of its own.
 *
 * There is no other way out, and what tries one, the kernel counts: UDP, such as DNS, and
 * connections to an address.
 */
#pragma once

#include "jail/egress/log.h"
#include "jail/launch/launch.h"

struct egress {
	int fd[EGRESS_FDS];           /* -1: there is none, or not any more */
	pid_t pid;                    /* the launcher's child */
	const struct egress_log *map; /* of the log; NULL: no host is allowed */
};

#define EGRESS_NONE ((struct egress){ .fd = { -1, -1, -1, -1 } })

/**
 * egress_start() - Start the proxy of a jail, where its plan has --allow-host
 * @j:		Complete, and its program has not started
 * @port:	Of the gate: closed
 * @g:		EGRESS_NONE before; the caller closes its fds
 *
 * What the proxy says when it is confined, or why it is not, egress_hear() reads.
 *
 * Return: 0, or -errno
 */
int egress_start(const struct jail *j, int *port, struct egress *g, struct err *e);

/**
 * egress_hear() - Read the one packet that a proxy says
 * @wait_ms:	How long to wait for it
 *
 * Return: 0 (it is confined), or -errno: its words; -ETIMEDOUT; -EPIPE (it has ended)
 */
int egress_hear(int socket, int wait_ms, struct err *e);

/** egress_map() - Map the log, if there is one, and close its fd; 0, or -errno */
int egress_map(struct egress *g, struct err *e);

/** egress_end() - Kill the proxy, close and unmap what there is of it */
void egress_end(struct egress *g);

/** egress_collect() - The jail is gone: let the proxy end, and wait until the log is
 * whole, two seconds at the most; closes the socket */
void egress_collect(int *socket);
