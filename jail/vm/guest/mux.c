/* SPDX-License-Identifier: MIT */
/*
 * mux.c - streams between host and guest: see mux.h
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "init/count.h"
#include "jail/vm/guest/mux.h"

#define OTHERS_MAX 4
/* of a pipe that poll(2) calls writable, so many bytes do not block */
#define PIECE_MAX 4096u

void mux_init(struct mux *m, int link,
	      int (*control)(struct mux *m, const uint8_t *message, size_t length))
{
	m->link = link;
	m->control = control;
	for (size_t i = 0; i < MUX_STREAMS; i++)
		m->pipe[i] =
			(struct mux_pipe){ .in = -1, .out = -1, .credit = MUX_WINDOW };
}

static void close_once(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

static size_t room(const struct mux *m)
{
	return sizeof(m->tx) - m->unsent;
}

/* false where it does not fit now */
static bool put(struct mux *m, enum mux_stream stream, enum mux_kind kind,
		const void *bytes, size_t length)
{
	struct mux_head head = { (uint8_t)stream, (uint8_t)kind, 0, (uint32_t)length };

	if (m->link < 0)
		return true;
	if (room(m) < sizeof(head) + length)
		return false;
	memcpy(m->tx + m->unsent, &head, sizeof(head));
	if (length)
		memcpy(m->tx + m->unsent + sizeof(head), bytes, length);
	m->unsent += sizeof(head) + length;
	return true;
}

void mux_say(struct mux *m, const void *message, size_t length)
{
	(void)put(m, MUX_CONTROL, MUX_DATA, message, length);
}

bool mux_idle(const struct mux *m)
{
	for (size_t i = 0; i < MUX_STREAMS; i++)
		if (m->pipe[i].held)
			return false;
	return m->unsent == 0;
}

bool mux_sent(const struct mux *m)
{
	for (size_t i = 0; i < MUX_STREAMS; i++)
		if (m->pipe[i].in >= 0)
			return false;
	return m->unsent == 0;
}

static int take_data(struct mux_pipe *p, const uint8_t *bytes, uint32_t length)
{
	if (p->out < 0 || p->ended || length > MUX_WINDOW - p->held - p->passed)
		return -EPROTO;
	if (p->gone) {
		p->passed += length;
		return 0;
	}
	if (p->from + p->held + length > MUX_WINDOW) {
		memmove(p->bytes, p->bytes + p->from, p->held);
		p->from = 0;
	}
	memcpy(p->bytes + p->from + p->held, bytes, length);
	p->held += length;
	return 0;
}

static int take_ack(struct mux_pipe *p, const uint8_t *bytes, uint32_t length)
{
	uint32_t count;

	if (length != sizeof(count))
		return -EPROTO;
	memcpy(&count, bytes, sizeof(count));
	if (count > MUX_WINDOW - p->credit)
		return -EPROTO;
	p->credit += count;
	return 0;
}

static int take_frame(struct mux *m, const struct mux_head *head, const uint8_t *bytes)
{
	struct mux_pipe *p = &m->pipe[head->stream];

	if (head->stream == MUX_CONTROL)
		return head->kind == MUX_DATA && head->length &&
				       head->length <= MUX_CONTROL_MAX
			       ? m->control(m, bytes, head->length)
			       : -EPROTO;
	switch (head->kind) {
	case MUX_DATA:
		return take_data(p, bytes, head->length);
	case MUX_ACK:
		return take_ack(p, bytes, head->length);
	case MUX_END:
		p->ended = true;
		return head->length ? -EPROTO : 0;
	case MUX_CLOSED:
		close_once(&p->in);
		return head->length ? -EPROTO : 0;
	default:
		return -EPROTO;
	}
}

static int take_frames(struct mux *m)
{
	size_t at = 0;
	int r = 0;

	while (r == 0 && m->received - at >= sizeof(struct mux_head)) {
		struct mux_head head;

		memcpy(&head, m->rx + at, sizeof(head));
		if (head.stream >= MUX_STREAMS || head.zero ||
		    head.length > MUX_FRAME_MAX)
			return -EPROTO;
		if (m->received - at < sizeof(head) + head.length)
			break;
		r = take_frame(m, &head, m->rx + at + sizeof(head));
		at += sizeof(head) + head.length;
	}
	memmove(m->rx, m->rx + at, m->received - at);
	m->received -= at;
	return r;
}

static bool later(ssize_t n)
{
	return n < 0 && (errno == EAGAIN || errno == EINTR);
}

/* what has come is looked at before it is said that no more will come */
static int receive(struct mux *m)
{
	ssize_t n = read(m->link, m->rx + m->received, sizeof(m->rx) - m->received);

	if (later(n))
		return 0;
	if (n <= 0)
		return -EPIPE;
	m->received += (size_t)n;
	return take_frames(m);
}

/* a socket's own flags are its owner's, and poll(2) promises no room of any size in it */
static ssize_t write_some(int fd, const void *bytes, size_t length)
{
	ssize_t n = send(fd, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);

	return n < 0 && errno == ENOTSOCK ? write(fd, bytes, length) : n;
}

/* to one that has gone: what it said before may still be unread, so receive() tells */
static void transmit(struct mux *m)
{
	ssize_t n = write_some(m->link, m->tx, m->unsent);

	if (later(n))
		return;
	if (n <= 0)
		n = (ssize_t)m->unsent;
	memmove(m->tx, m->tx + n, m->unsent - (size_t)n);
	m->unsent -= (size_t)n;
}

static void send_from(struct mux *m, enum mux_stream stream)
{
	struct mux_pipe *p = &m->pipe[stream];
	uint8_t bytes[MUX_FRAME_MAX];
	size_t most = p->credit < sizeof(bytes) ? p->credit : sizeof(bytes);
	ssize_t n = read(p->in, bytes, most);

	if (later(n))
		return;
	if (n <= 0) {
		(void)put(m, stream, MUX_END, NULL, 0);
		close_once(&p->in);
		return;
	}
	p->credit -= (uint32_t)n;
	(void)put(m, stream, MUX_DATA, bytes, (size_t)n);
}

static void pass_on(struct mux *m, enum mux_stream stream)
{
	struct mux_pipe *p = &m->pipe[stream];
	ssize_t n = write_some(p->out, p->bytes + p->from,
			       p->held < PIECE_MAX ? p->held : PIECE_MAX);

	if (later(n))
		return;
	if (n < 0) {
		(void)put(m, stream, MUX_CLOSED, NULL, 0);
		p->gone = true;
		n = p->held;
	}
	p->passed += (uint32_t)n;
	p->from += (uint32_t)n;
	p->held -= (uint32_t)n;
	if (p->held == 0)
		p->from = 0;
}

/* a frame for the head of each stream always has room */
static bool may_read(const struct mux *m, const struct mux_pipe *p)
{
	return p->in >= 0 && p->credit &&
	       room(m) >= MUX_STREAMS * (MUX_FRAME_MAX / 2 + sizeof(struct mux_head));
}

static void settle(struct mux *m)
{
	for (enum mux_stream i = MUX_IN; i < MUX_STREAMS; i++) {
		struct mux_pipe *p = &m->pipe[i];

		if (p->passed && put(m, i, MUX_ACK, &p->passed, sizeof(p->passed)))
			p->passed = 0;
		if (p->ended && p->held == 0 && p->out >= 0) {
			if (p->half)
				(void)shutdown(p->out, SHUT_WR);
			close_once(&p->out);
		}
	}
}

int mux_turn(struct mux *m, struct pollfd *others, size_t count, int timeout_ms)
{
	struct pollfd fd[OTHERS_MAX + 1 + 2 * MUX_STREAMS];
	struct pollfd *in = fd, *out = fd + MUX_STREAMS, *rest = out + MUX_STREAMS;
	int r = 0;

	for (size_t i = 0; i < MUX_STREAMS; i++) {
		const struct mux_pipe *p = &m->pipe[i];

		in[i] = (struct pollfd){ may_read(m, p) ? p->in : -1, POLLIN, 0 };
		out[i] = (struct pollfd){ p->held ? p->out : -1, POLLOUT, 0 };
	}
	rest[0] = (struct pollfd){ m->link, (short)(POLLIN | (m->unsent ? POLLOUT : 0)),
				   0 };
	if (count)
		memcpy(rest + 1, others, count * sizeof(*others));
	if (poll(fd, 2 * MUX_STREAMS + 1 + count, timeout_ms) < 0)
		return errno == EINTR ? 0 : -errno;
	if (count)
		memcpy(others, rest + 1, count * sizeof(*others));
	for (enum mux_stream i = MUX_IN; i < MUX_STREAMS; i++) {
		if (in[i].revents && may_read(m, &m->pipe[i]))
			send_from(m, i);
		if (out[i].revents)
			pass_on(m, i);
	}
	if (rest[0].revents & (POLLIN | POLLHUP | POLLERR))
		r = receive(m);
	settle(m);
	if (r == 0 && m->unsent && (rest[0].revents & POLLOUT))
		transmit(m);
	if (r < 0) {
		m->link = -1;
		m->unsent = 0;
	}
	return r;
}
