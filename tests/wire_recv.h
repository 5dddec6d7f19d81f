/* SPDX-License-Identifier: MIT */
/*
 * wire_recv.h - a frame is received by a plain reader that blocks
 *
 * The product reads frames in event loops. What tests expect is read by other code than
 * the reader that is tested.
 */
#pragma once

#include <errno.h>

#include "init/io.h"
#include "init/wire.h"

/**
 * wire_recv() - Receive one frame, whole; blocks
 * @fd:		Blocking stream
 * @h:		Filled on success only
 * @payload:	Gets h->length bytes
 * @size:	Room in @payload; a longer frame is refused, so WIRE_PAYLOAD_MAX takes all
 *
 * Return: 0, -ENODATA (end of stream between frames), -EPIPE (end of stream within a
 * frame), -EMSGSIZE, -EBADMSG, or -errno of read(2). After any error the stream is of
 * no further use.
 */
static inline int wire_recv(int fd, struct wire_header *h, void *payload, size_t size)
{
	unsigned char head[WIRE_HEADER_BYTES];
	struct wire_header checked;
	ssize_t n = io_read_all(fd, head, sizeof(head));

	if (n < 0)
		return (int)n;
	if (n == 0)
		return -ENODATA;
	if ((size_t)n < sizeof(head))
		return -EPIPE;

	int r = wire_unpack(head, &checked);

	if (r < 0)
		return r;
	if (checked.length > size)
		return -EMSGSIZE;
	n = io_read_all(fd, payload, checked.length);
	if (n < 0)
		return (int)n;
	if ((size_t)n < checked.length)
		return -EPIPE;
	*h = checked;
	return 0;
}
