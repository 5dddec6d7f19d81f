/* SPDX-License-Identifier: MIT */
/*
 * queue.h - frames that wait until the client reads
 *
 * The queue itself has no bound: who fills it looks at its length, and takes nothing more
 * from a client, or from the pipes of steps, while it is above QUEUE_HIGH.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define QUEUE_HIGH (1u << 20) /* bytes */
#define QUEUE_LOW (64u << 10) /* where to go on */

/* zeroed at first */
struct queue {
	unsigned char *bytes;
	size_t start, end; /* of what waits, within room */
	size_t room;
};

/** queue_length() - How many bytes wait */
static inline size_t queue_length(const struct queue *q)
{
	return q->end - q->start;
}

/**
 * queue_put() - Append a frame, its payload in two parts
 * @a:		May be NULL when its length is 0, as @b
 *
 * Return: 0, -EMSGSIZE (more than WIRE_PAYLOAD_MAX), or -ENOMEM: nothing was appended
 */
int queue_put(struct queue *q, uint16_t type, uint32_t step, const void *a,
	      size_t a_length, const void *b, size_t b_length);

/** queue_move() - Append all that another queue has, and free that; 0, or -ENOMEM */
int queue_move(struct queue *q, struct queue *from);

/**
 * queue_send() - Send what a socket takes without waiting
 *
 * Memory is given back when nothing waits any more.
 *
 * Return: 0 (nothing waits), 1 (something does), or -errno of send(2)
 */
int queue_send(struct queue *q, int fd);

/** queue_end() - Free it, and what waits */
void queue_end(struct queue *q);
