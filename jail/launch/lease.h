/* SPDX-License-Identifier: MIT */
/*
 * lease.h - a network namespace that one jail after another is in
 *
 * To make one costs more than all other namespaces of a jail together, so root's runs
 * leave theirs to later ones. Entering one that somebody else has made, of --net=PATH,
 * is the same to all but the read-back and the filter.
 */
#pragma once

#include "jail/plan/plan.h"
#include "jail/walls/ids.h"

/* inode numbers of network namespaces, as /proc shows them to posture.c */
struct lease {
	ino_t inside; /* the jail's, also of --net=PATH; 0: it makes one of its own */
	ino_t first;  /* the launcher's own */
};

/**
 * lease_enter() - Put the calling process where its next child is to be cloned
 * @l:		Zeroed; filled if that is a lease, or the namespace of --net=PATH
 * @ids:	Of the jail: the lock on the lease lasts as long as that on them
 * @cgroup:	Else its net.core.somaxconn bounds what sockets hold
 * @back:	-1; gets an fd for lease_leave(), where the process is in another one now
 *
 * No lease is had by an ordinary user, by root without CAP_SYS_ADMIN or CAP_NET_ADMIN, by
 * a session, and by a plan that wants loopback, allows more system calls or learns which
 * to allow; or where anything fails.
 *
 * Return: 0, or -errno: the namespace of --net=PATH cannot be entered
 */
int lease_enter(struct lease *l, const struct plan *p, const struct ids *ids, bool cgroup,
		int *back, struct err *e);

/**
 * lease_leave() - Put it back into the namespace that it had at first
 * @back:	From lease_enter(); closed
 *
 * Return: 0, or -errno: it must then end
 */
int lease_leave(int back, struct err *e);
