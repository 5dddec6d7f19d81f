/* SPDX-License-Identifier: MIT */
/*
 * wire.c - frames: see wire.h for the format
 */
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "init/io.h"
#include "init/wire.h"

/* a header's bytes; the machine is little-endian, as wire.h demands */
struct packed {
	uint32_t length;
	uint16_t type, zero;
	uint32_t step;
};
_Static_assert(sizeof(struct packed) == WIRE_HEADER_BYTES, "no padding on the wire");

void wire_pack(const struct wire_header *h, unsigned char *bytes)
{
	const struct packed p = { h->length, h->type, 0, h->step };

	memcpy(bytes, &p, sizeof(p));
}

int wire_unpack(const unsigned char *bytes, struct wire_header *h)
{
	struct packed p;

	memcpy(&p, bytes, sizeof(p));
	if (p.length > WIRE_PAYLOAD_MAX)
		return -EMSGSIZE;
	if (p.zero != 0 || !((p.type >= WIRE_FAIL && p.type <= WIRE_EXIT) ||
			     (p.type >= WIRE_CODE && p.type <= WIRE_PIECE) ||
			     (p.type >= WIRE_OPEN && p.type <= WIRE_WALL)))
		return -EBADMSG;
	*h = (struct wire_header){ p.length, p.type, p.step };
	return 0;
}

/* by sendmsg(2) on sockets, so that a reader that is gone is an error and not SIGPIPE */
static ssize_t send_some(int fd, struct iovec *iov, unsigned short count)
{
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = count };
	ssize_t n = sendmsg(fd, &msg, MSG_NOSIGNAL);

	if (n < 0 && errno == ENOTSOCK)
		n = writev(fd, iov, count);
	return n;
}

int wire_send(int fd, uint16_t type, uint32_t step, const void *payload, size_t length)
{
	unsigned char head[WIRE_HEADER_BYTES];

	if (length > WIRE_PAYLOAD_MAX)
		return -EMSGSIZE;
	wire_pack(&(struct wire_header){ (uint32_t)length, type, step }, head);

	size_t total = sizeof(head) + length, sent = 0;

	while (sent < total) {
		size_t in_head = sent < sizeof(head) ? sizeof(head) - sent : 0;
		size_t skip = sent > sizeof(head) ? sent - sizeof(head) : 0;
		struct iovec iov[2] = {
			{ head + sizeof(head) - in_head, in_head },
			/* iovec has no const; sendmsg does not write to it */
			{ (void *)((uintptr_t)payload + skip), length - skip },
		};
		ssize_t n = send_some(fd, in_head ? iov : iov + 1, in_head ? 2 : 1);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		sent += (size_t)n;
	}
	return 0;
}

int wire_wait_go(int fd)
{
	unsigned char head[WIRE_HEADER_BYTES];
	struct wire_header h;

	return io_read_all(fd, head, sizeof(head)) == sizeof(head) &&
			       wire_unpack(head, &h) == 0 && h.type == WIRE_GO &&
			       h.length == 0
		       ? 0
		       : -EPIPE;
}
