/* SPDX-License-Identifier: MIT */
/*
 * wire_reader.c - whole frames out of a stream, for who reads what others wrote: see
 * wire.h
 *
 * A file apart from wire.c: no process with rights is to have it.
 */
#include <unistd.h>

#include "init/wire.h"

/* how many bytes the frame in the buffer has; while its header is not whole, of that */
static int frame_bytes(const struct wire_reader *r, size_t *bytes)
{
	struct wire_header h;

	*bytes = WIRE_HEADER_BYTES;
	if (r->have < WIRE_HEADER_BYTES)
		return 0;

	int bad = wire_unpack(r->buf, &h);

	if (bad < 0)
		return bad;
	*bytes += h.length;
	return 0;
}

int wire_reader_fill(struct wire_reader *r, int fd)
{
	size_t want;
	int bad = frame_bytes(r, &want);

	if (bad < 0)
		return bad;

	ssize_t n = read(fd, r->buf + r->have, want - r->have);

	if (n < 0)
		return -errno;
	if (n == 0)
		return r->have ? -EPIPE : -ENODATA;
	r->have += (size_t)n;
	bad = frame_bytes(r, &want);
	return bad < 0 ? bad : r->have >= WIRE_HEADER_BYTES && r->have == want;
}

const unsigned char *wire_reader_take(struct wire_reader *r, struct wire_header *h)
{
	/* wire_reader_fill() has checked this header */
	if (wire_unpack(r->buf, h) < 0)
		*h = (struct wire_header){ 0 };
	r->have = 0;
	return r->buf + WIRE_HEADER_BYTES;
}
