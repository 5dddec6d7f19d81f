/* SPDX-License-Identifier: MIT */
/*
 * fd_passing.h - packets with fds beside them, over a SOCK_SEQPACKET socket
 */
#pragma once

#include <stddef.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "init/err.h"

#define FD_PASSING_FDS_MAX 248 /* the kernel takes 253 */

/**
 * fd_passing_send() - Send one packet, and copies of fds with it
 * @fds:	At most FD_PASSING_FDS_MAX; the caller keeps its own
 *
 * No SIGPIPE is raised. See unix(7), SCM_RIGHTS.
 *
 * Return: 0, or -errno of sendmsg(2)
 */
int fd_passing_send(int to, const void *bytes, size_t length, const int *fds,
		    size_t fd_count);

/**
 * fd_passing_send_parts() - Send one packet whose bytes lie in parts; see iovec(3type)
 */
int fd_passing_send_parts(int to, struct iovec *parts, size_t part_count, const int *fds,
			  size_t fd_count);

/**
 * fd_passing_failed() - Say why a packet was not sent
 * @what:	Words for the packet, which begin the error
 *
 * Return: -@errnum
 */
int fd_passing_failed(int errnum, const char *what, struct err *e);

/**
 * fd_passing_next() - The control message behind @part, or the first for NULL; cmsg(3)
 */
struct cmsghdr *fd_passing_next(struct msghdr *msg, struct cmsghdr *part);

/**
 * fd_passing_take() - Take fds and credentials out of a message, of a socket of any type
 * @msg:	As recvmsg(2) left it
 * @fds:	Gets the first @fd_max fds, -1 where there are fewer; all others are
 *		closed
 * @sender:	Gets SCM_CREDENTIALS, and is left as it is where there are none; or NULL
 *
 * Return: number of fds that came; it may be more than @fd_max
 */
size_t fd_passing_take(struct msghdr *msg, int *fds, size_t fd_max, struct ucred *sender);

/**
 * fd_passing_receive() - Receive one packet, and the fds that came with it
 * @length:	Of the packet: a shorter or longer one is -EBADMSG
 * @fds:	Gets close-on-exec fds, which the caller closes; -1 for the rest of
 *		@fd_max
 *
 * Return: number of fds, -EPIPE (end of file), -EBADMSG, or -errno of recvmsg(2)
 */
int fd_passing_receive(int from, void *bytes, size_t length, int *fds, size_t fd_max);

/**
 * fd_passing_receive_by() - The same, with flags of recvmsg(2), and who has sent it
 * @from:	May be a stream, where @length bytes are to be there at once
 * @flags:	MSG_TRUNC of packets, whose longer ones are not seen without it
 * @sender:	As fd_passing_take() has it, for a socket with SO_PASSCRED; or NULL
 */
int fd_passing_receive_by(int from, void *bytes, size_t length, int flags, int *fds,
			  size_t fd_max, struct ucred *sender);
