/* SPDX-License-Identifier: MIT */
/*
 * packet.h - frames on a SOCK_SEQPACKET channel, one a packet, with fds and credentials
 */
#pragma once

#include <sys/types.h>

#include "init/step_wire.h"
#include "init/wire.h"

/**
 * packet_send() - Send a frame and fds, at once or not at all
 * @fd:		stepjail's end of channel_pair(), which does not block
 * @payload:	At most STEP_TEXT_MAX
 * @fds:	At most STEP_FDS; they stay the caller's, too
 *
 * Return: 0, -EAGAIN (the other end does not read), or -errno of sendmsg(2)
 */
int packet_send(int fd, const struct wire_header *h, const void *payload, const int *fds,
		size_t count);

/**
 * packet_receive() - Take one packet, without waiting
 * @h:		Filled
 * @payload:	Gets at most STEP_TEXT_MAX bytes
 * @pid:	Gets the sender's in the caller's PID namespace, as the kernel tells it; 0
 *		if it is gone
 *
 * See unix(7), SCM_CREDENTIALS.
 *
 * Return: 1, 0 (end of file), -EAGAIN, -EBADMSG (not a frame), -EPROTO (the next packet
 * has fds beside it: it is not taken, and nothing behind it can be), or -errno of
 * recvmsg(2)
 */
int packet_receive(int fd, struct wire_header *h, unsigned char *payload, pid_t *pid);

/**
 * packet_close() - Close stepjail's end, without waiting for what a jail has sent there
 * @fd:		-1 for none; set to -1
 */
void packet_close(int *fd);
