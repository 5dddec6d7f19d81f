/* SPDX-License-Identifier: MIT */
/*
 * channel.h - make the SOCK_SEQPACKET channel between stepjail and an interpreter
 *
 * What goes over it: packet.h.
 */
#pragma once

#include <stdbool.h>

#include "init/err.h"

/* Linux 6.16; older headers do not have it */
#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83
#endif

/**
 * channel_pair() - Make a channel
 * @outside:	Gets stepjail's end: it does not block, asks for credentials, and where
 *		the kernel can, refuses fds
 * @inside:	Gets the interpreter's end; both close-on-exec
 *
 * Return: 0, or -errno
 */
int channel_pair(int *outside, int *inside, struct err *e);

/** channel_can_refuse_fds() - Does the kernel refuse to send fds to a channel's end? */
bool channel_can_refuse_fds(void);
