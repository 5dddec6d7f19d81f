/* SPDX-License-Identifier: MIT */
/*
 * buffer.h - what the sockets of a jail may hold, where no cgroup counts it
 *
 * The kernel tells how many sockets a network namespace has, but not what lies in them. So
 * each is charged with the most that it can hold.
 */
#ifndef STEPJAIL_JAIL_BUFFER_H
#define STEPJAIL_JAIL_BUFFER_H

#include <stdint.h>
#include <sys/types.h>

#include "init/err.h"
#include "jail/plan.h"

/* the most that one socket of a jail can hold */
struct buffer_bound {
	uint64_t bytes; /* whatever its family */
	uint64_t
		inet_bytes; /* and what TCP or UDP adds where there is a loopback; or 0 */
};

/**
 * buffer_bound() - Learn what a socket can hold on this host
 *
 * An AF_UNIX socket is full when the bytes it sent and nobody received reach SO_SNDBUF,
 * and the message that fills it may be as large once more: socket(7), unix(7). SO_SNDBUF is
 * wmem_default, since jail/shut.c refuses to change it, as it refuses splice(2) and
 * sendfile(2), whose pages count for less than they are. With a loopback TCP has buffers of
 * its own, up to tcp_wmem and tcp_rmem, and UDP has SO_RCVBUF: tcp(7), udp(7).
 *
 * Return: 0, or -errno where this host does not tell
 */
int buffer_bound(enum plan_net net, struct buffer_bound *bound, struct err *e);

/**
 * buffer_used() - What the sockets of a process's network namespace may hold, at most
 * @sockets:	Gets their number
 *
 * Those whose fds are closed count, as long as they wait in another's SCM_RIGHTS, or what
 * they sent was not received. The namespace is the jail's own, so they are all its own.
 * TCP and UDP hold no more than the kernel says that they have on the whole host.
 *
 * Return: 0, or -errno: proc_read()'s, or -EBADMSG
 */
int buffer_used(pid_t pid, const struct buffer_bound *bound, uint64_t *sockets,
		uint64_t *bytes);

#endif
