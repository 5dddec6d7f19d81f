/* SPDX-License-Identifier: MIT */
/*
 * queue.c - frames that wait until the client reads: see queue.h
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "init/wire.h"
#include "jail/serve/wire/queue.h"

#define KEPT_BYTES (64u << 10) /* of memory, while nothing waits */

static int make_room(struct queue *q, size_t length)
{
	size_t used = queue_length(q), room = q->room ? q->room : KEPT_BYTES;
	unsigned char *more;

	if (q->room - q->end >= length)
		return 0;
	if (q->start) {
		memmove(q->bytes, q->bytes + q->start, used);
		q->start = 0;
		q->end = used;
	}
	while (room - used < length)
		room *= 2;
	if (room == q->room)
		return 0;
	more = realloc(q->bytes, room);
	if (!more)
		return -ENOMEM;
	q->bytes = more;
	q->room = room;
	return 0;
}

static void append(struct queue *q, const void *bytes, size_t length)
{
	if (length)
		memcpy(q->bytes + q->end, bytes, length);
	q->end += length;
}

int queue_put(struct queue *q, uint16_t type, uint32_t step, const void *a,
	      size_t a_length, const void *b, size_t b_length)
{
	unsigned char head[WIRE_HEADER_BYTES];
	size_t length = a_length + b_length;

	if (length > WIRE_PAYLOAD_MAX)
		return -EMSGSIZE;
	if (make_room(q, sizeof(head) + length) < 0)
		return -ENOMEM;
	wire_pack(&(struct wire_header){ (uint32_t)length, type, step }, head);
	append(q, head, sizeof(head));
	append(q, a, a_length);
	append(q, b, b_length);
	return 0;
}

int queue_move(struct queue *q, struct queue *from)
{
	size_t length = queue_length(from);
	int r = make_room(q, length);

	if (r == 0 && length)
		append(q, from->bytes + from->start, length);
	queue_end(from);
	return r;
}

int queue_send(struct queue *q, int fd)
{
	while (queue_length(q)) {
		ssize_t n = send(fd, q->bytes + q->start, queue_length(q),
				 MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN || errno == EWOULDBLOCK ? 1 : -errno;
		q->start += (size_t)n;
	}
	q->start = q->end = 0;
	if (q->room > KEPT_BYTES)
		queue_end(q);
	return 0;
}

void queue_end(struct queue *q)
{
	free(q->bytes);
	*q = (struct queue){ 0 };
}
