/* SPDX-License-Identifier: MIT */
/*
 * serve.c - a `stepjail serve` of our own: see serve.h
 *
 * Theory of operation
 *   stepjail serve ... with
 *	fd 0	the broker's socketpair: frames both ways (init/serve_wire.h)
 *	fd 1,2	a pipe: diagnostics, kept clipped, shown when something fails
 *   Our end of the socket does not block in either direction, so a stepjail that does not
 *   read cannot hold us up.
 */
#include <poll.h>
#include <sys/socket.h>

#include "agent/base/escape.h"
#include "agent/base/units.h"
#include "agent/session/serve.h"
#include "init/io.h"

#define DRAIN_READS 32 /* after the end: more than a pipe can hold */

void serve_init(struct serve *v, struct stop *stop)
{
	memset(v, 0, sizeof(*v));
	v->stop = stop;
	v->child.pidfd = v->socket = v->diag_fd = v->typed_fd = -1;
}

void serve_queue(struct serve *v, uint16_t type, uint32_t session, const void *head,
		 size_t head_bytes, const void *rest, size_t rest_bytes)
{
	unsigned char packed[WIRE_HEADER_BYTES];
	struct wire_header h = { (uint32_t)(head_bytes + rest_bytes), type, session };

	if (v->sent == v->to_send.length) {
		text_clear(&v->to_send);
		v->sent = 0;
	}
	wire_pack(&h, packed);
	text_add(&v->to_send, packed, sizeof(packed));
	text_add(&v->to_send, head, head_bytes);
	text_add(&v->to_send, rest, rest_bytes);
}

size_t serve_waiting(const struct serve *v)
{
	return v->to_send.length - v->sent;
}

static void send_queued(struct serve *v)
{
	ssize_t n = send(v->socket, v->to_send.bytes + v->sent, serve_waiting(v),
			 MSG_NOSIGNAL);

	/* an error here shows as the end of the stream on the reading side */
	if (n > 0)
		v->sent += (size_t)n;
	else if (n < 0 && errno != EAGAIN && errno != EINTR)
		v->sent = v->to_send.length;
}

/* take what the pipe holds; a closed one is not polled again */
static void drain(struct serve *v)
{
	char bytes[4096];
	ssize_t n = v->diag_fd < 0 ? -1 : read(v->diag_fd, bytes, sizeof(bytes));

	if (n > 0)
		clip_add(&v->diag, bytes, (size_t)n);
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		io_close_fd(&v->diag_fd);
}

static int read_frame(struct serve *v)
{
	int r = wire_reader_fill(&v->reader, v->socket);

	if (r == 1)
		return SERVE_FRAME;
	if (r == 0 || r == -EAGAIN || r == -EINTR)
		return SERVE_QUIET;
	v->breach = r == -EMSGSIZE || r == -EBADMSG;
	return SERVE_GONE;
}

int serve_pump(struct serve *v, uint64_t deadline_ms)
{
	struct pollfd p[] = {
		{ .fd = v->stop->fd, .events = POLLIN },
		{ .fd = v->diag_fd, .events = POLLIN },
		{ .fd = v->socket, .events = POLLIN },
		{ .fd = v->child.pidfd, .events = POLLIN },
		{ .fd = v->typed_fd, .events = POLLIN },
	};

	if (v->child.pid <= 0 && v->socket < 0)
		return SERVE_GONE;
	if (serve_waiting(v))
		p[2].events |= POLLOUT;
	if (stop_came(v->stop))
		return -EINTR;
	if (poll(p, sizeof(p) / sizeof(p[0]), units_poll_ms(deadline_ms)) <= 0)
		return SERVE_QUIET;
	if (p[0].revents && stop_came(v->stop))
		return -EINTR;
	if (p[1].revents)
		drain(v);
	if (p[2].revents & POLLOUT)
		send_queued(v);
	/* frames that were sent before the end still count: read them first */
	if (p[2].revents & (POLLIN | POLLHUP | POLLERR))
		return read_frame(v);
	if (p[4].revents)
		return SERVE_TYPED;
	return p[3].revents ? SERVE_GONE : SERVE_QUIET;
}

void serve_end(struct serve *v, uint64_t patience_ms)
{
	io_close_fd(&v->socket); /* it ends when its stream does */
	(void)launch_end(&v->child, patience_ms);
	for (int i = 0; i < DRAIN_READS && v->diag_fd >= 0; i++)
		drain(v);
	io_close_fd(&v->diag_fd);
	text_free(&v->to_send);
	v->sent = 0;
	v->reader.have = 0;
	v->breach = false;
}

int serve_failed(const struct serve *v, const char *why, const char *otherwise,
		 struct err *e)
{
	cleanup_text struct text line = { 0 };

	if (why && *why)
		escape_line(&line, why, strlen(why));
	else
		clip_last_line(&v->diag, &line);
	return err_say(e, ENOTRECOVERABLE, "the jail did not start: %s",
		       line.length ? text_string(&line) : otherwise);
}
