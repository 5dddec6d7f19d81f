/* SPDX-License-Identifier: MIT */
/*
 * gate.h - where the program waits, all its walls up, until the launcher has looked
 *
 * A socket pair. The program's end has close-on-exec, so that its end of file tells the
 * launcher that the program has started or will never start.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "init/wire.h"

/**
 * gate_make() - Make the pair; the control socket is such a pair, too
 * @outside:	Gets the launcher's end, which is told who has sent what it receives
 * @inside:	Gets the jail's end
 *
 * Return: 0, or -errno
 */
int gate_make(int *outside, int *inside, struct err *e);

/* what is the launcher's, in the order in which it is handed over */
enum gate_fd {
	GATE_NETLINK,  /* a route socket, by which the launcher sees the network */
	GATE_PORT,     /* listens at PROXY_PORT, where the jail has lo; for its proxy */
	GATE_LOCKS,    /* file locks of the jail's PID namespace, see mount_locks() */
	GATE_LISTENER, /* for violations */
	GATE_FDS
};

#define GATE_NONE                                                                        \
	{                                                                                \
		.fd = { [0 ... GATE_FDS - 1] = -1 }                                      \
	}

/**
 * gate_open_sockets() - Open sockets in the calling process's network namespace
 * @fd:		Gets them, close-on-exec: by the first the launcher reads the namespace
 *		back, see rtnetlink(7) and network.h; at the second a proxy accepts
 * @port:	Open the second, which is left alone otherwise
 *
 * Return: 0, or -errno
 */
int gate_open_sockets(int fd[GATE_FDS], bool port, struct err *e);

/**
 * gate_hand_over() - In the program's process: say a byte of READY, and an fd beside it
 * @inside:	The program's end
 * @fd:		Goes to the launcher, and is closed; -1 for none
 *
 * The kernel counts fds in flight by the host's user, and compares with the sender's
 * RLIMIT_NOFILE: this comes before that is lowered, so that no other jail of the user can
 * hold as many.
 *
 * Return: 0, or -errno
 */
int gate_hand_over(int inside, enum gate_fd which, int *fd, struct err *e);

/**
 * gate_wait() - End READY, and wait for GO
 * @landlock:	ABI that is in force and was tried, 0 for none
 *
 * Return: 0, or -errno; -EPIPE when the launcher is gone or refuses
 */
int gate_wait(int inside, uint32_t landlock, struct err *e);

/* READY, as far as it has come; zeroed at first */
struct gate_ready {
	size_t have; /* bytes of head */
	unsigned char head[WIRE_HEADER_BYTES];
	pid_t program;     /* in the caller's PID namespace, as the kernel tells it */
	int fd[GATE_FDS];  /* came beside the first bytes, or -1; close-on-exec, the
			   * caller's */
	uint32_t landlock; /* what gate_wait() was given */
};

/**
 * gate_receive() - In the launcher: take what there is of the program's READY
 * @outside:	The launcher's end
 * @ready:	Filled; what a call before has taken stays in it
 *
 * Waits for nothing. See unix(7), SCM_CREDENTIALS and SCM_RIGHTS.
 *
 * Return: 1, 0 (end of file, also within READY: there is no program that waits), -EAGAIN
 * (not all of it is there), or -errno
 */
int gate_receive(int outside, struct gate_ready *ready, struct err *e);

/** gate_close() - In the launcher: close what came beside READY */
void gate_close(struct gate_ready *ready);

/**
 * gate_open() - In the launcher: say GO, and close the launcher's end
 *
 * Return: 0, or -errno of the write
 */
int gate_open(int *outside);
