/* SPDX-License-Identifier: MIT */
/*
 * session.c - a jail and its interpreter: start, frames, end. See session.h; steps are in
 * step.c.
 *
 * Theory of operation
 *   stepjail run ... -- /bin/stepjail-python, with
 *	fd 0	our socketpair: frames both ways (init/wire.h, client <-> interpreter)
 *	fd 1,2	one pipe: diagnostics, kept clipped, shown when something fails: stepjail's
 *		own words, and at the jail's end what stepjail kept of its stdout and stderr
 *	fd 3	another pipe: stepjail's report
 *   session_pump() is the only place that waits: it polls all of these, the child's pidfd
 *   and the stop signals at once. Our end of the socket does not block in either direction,
 *   so a jail that does not read cannot hold us up.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/escape.h"
#include "agent/report.h"
#include "agent/session.h"
#include "agent/units.h"
#include "init/io.h"

#define START_MS 30000    /* until the interpreter must have said that it waits */
#define REPORT_MS 5000    /* from the end of the frames to the end of stepjail */
#define BACKSTOP_MS 10000 /* stepjail's own wall limit lies this much behind ours */
#define INTERPRETER "/bin/stepjail-python"

static void build_args(const struct session *s, struct launch_args *a)
{
	const struct session_plan *p = s->plan;
	uint64_t wall_ms = units_left_ms(p->deadline_ms) + BACKSTOP_MS;

	launch_add_run(a, p->rootfs, wall_ms);
	for (size_t i = 0; i + 1 < p->pass->count; i += 2)
		launch_add(a, "--%s=%s", p->pass->items[i], p->pass->items[i + 1]);
	for (size_t i = 0; i < p->bind_count; i++) {
		launch_add(a, "--bind");
		launch_add(a, "%s", p->binds[i]);
	}
	launch_add(a, "--");
	launch_add(a, INTERPRETER);
}

static int launch_jail(struct session *s, struct err *e)
{
	cleanup_args struct launch_args args = { .count = 0 };
	cleanup_fd int theirs = -1, diag_write = -1, report_write = -1;
	int both[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both) < 0)
		return err_set(e, errno, "socketpair");
	s->socket = both[0];
	theirs = both[1];
	if (fcntl(s->socket, F_SETFL, O_NONBLOCK) < 0)
		return err_set(e, errno, "socketpair");

	int r = launch_pipe(&s->diag_fd, &diag_write, e);

	if (r == 0)
		r = launch_pipe(&s->report_fd, &report_write, e);
	if (r < 0)
		return r;
	build_args(s, &args);

	const int fds[LAUNCH_FDS] = { theirs, diag_write, diag_write, report_write };

	return launch_start(s->plan->stepjail, &args, fds, s->stop, &s->child, e);
}

void session_queue(struct session *s, uint16_t type, const void *payload, size_t length)
{
	unsigned char head[WIRE_HEADER_BYTES];
	struct wire_header h = { (uint32_t)length, type, s->step };

	if (s->sent == s->to_send.length) {
		text_clear(&s->to_send);
		s->sent = 0;
	}
	wire_pack(&h, head);
	text_add(&s->to_send, head, sizeof(head));
	text_add(&s->to_send, payload, length);
}

static void send_queued(struct session *s)
{
	ssize_t n = send(s->socket, s->to_send.bytes + s->sent,
			 s->to_send.length - s->sent, MSG_NOSIGNAL);

	/* an error here shows as the end of the stream on the reading side */
	if (n > 0)
		s->sent += (size_t)n;
	else if (n < 0 && errno != EAGAIN && errno != EINTR)
		s->sent = s->to_send.length;
}

/* take what a pipe holds; a closed one is not polled again */
static void drain(int *fd, struct clip *clip, struct text *text)
{
	char bytes[4096];
	ssize_t n = *fd < 0 ? -1 : read(*fd, bytes, sizeof(bytes));

	if (n > 0 && clip)
		clip_add(clip, bytes, (size_t)n);
	if (n > 0 && text)
		text_add(text, bytes, (size_t)n);
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		io_close_fd(fd);
}

static int read_frame(struct session *s)
{
	int r = wire_reader_fill(&s->reader, s->socket);

	if (r == 1)
		return SESSION_FRAME;
	if (r == 0 || r == -EAGAIN || r == -EINTR)
		return SESSION_QUIET;
	s->breach = r == -EMSGSIZE || r == -EBADMSG;
	return SESSION_GONE;
}

int session_pump(struct session *s, uint64_t deadline_ms)
{
	struct pollfd p[] = {
		{ .fd = s->stop->fd, .events = POLLIN },
		{ .fd = s->diag_fd, .events = POLLIN },
		{ .fd = s->report_fd, .events = POLLIN },
		{ .fd = s->socket, .events = POLLIN },
		{ .fd = s->child.pidfd, .events = POLLIN },
	};

	if (s->sent < s->to_send.length)
		p[3].events |= POLLOUT;
	if (stop_came(s->stop))
		return -EINTR;
	if (poll(p, sizeof(p) / sizeof(p[0]), units_poll_ms(deadline_ms)) <= 0)
		return SESSION_QUIET;
	if (p[0].revents && stop_came(s->stop))
		return -EINTR;
	if (p[1].revents)
		drain(&s->diag_fd, &s->diag, NULL);
	if (p[2].revents)
		drain(&s->report_fd, NULL, &s->report);
	if (p[3].revents & POLLOUT)
		send_queued(s);
	/* frames that were sent before the end still count: read them first */
	if (p[3].revents & (POLLIN | POLLHUP | POLLERR))
		return read_frame(s);
	return p[4].revents ? SESSION_GONE : SESSION_QUIET;
}

/* the last line of the diagnostics: where stepjail refuses, it says why in one line */
static int start_failed(struct session *s, const char *otherwise, struct err *e)
{
	cleanup_text struct text head = { 0 };
	cleanup_text struct text tail = { 0 };
	cleanup_text struct text line = { 0 };

	(void)clip_take(&s->diag, &head, &tail);

	const struct text *all = tail.length ? &tail : &head;
	size_t end = all->length;

	while (end && all->bytes[end - 1] == '\n')
		end--;

	size_t start = end;

	while (start && all->bytes[start - 1] != '\n')
		start--;
	if (end > start)
		escape_line(&line, all->bytes + start, end - start);
	return err_say(e, ENOTRECOVERABLE, "the jail did not start: %s",
		       line.length ? text_string(&line) : otherwise);
}

int session_start_jail(struct session *s, struct err *e)
{
	uint64_t deadline_ms = units_now_ms() + START_MS;
	struct verdict_facts facts = { .verdict = VERDICT_LAUNCHER_ERROR };
	struct wire_header h = { 0 };
	int event = SESSION_QUIET;
	int r = launch_jail(s, e);

	if (r < 0)
		return r;
	s->jails++;
	while (event == SESSION_QUIET && units_left_ms(deadline_ms))
		event = session_pump(s, deadline_ms);
	if (event == -EINTR)
		return err_say(e, EINTR, "stopped by a signal");
	if (event == SESSION_FRAME) {
		(void)wire_reader_take(&s->reader, &h);
		if (h.type == WIRE_STARTED) {
			s->fresh = true;
			return 0;
		}
	}
	session_end_jail(s, event == SESSION_GONE ? REPORT_MS : 0, &facts);
	if (event == SESSION_QUIET)
		return start_failed(s, "its interpreter kept silent for 30 seconds", e);
	if (event == SESSION_FRAME)
		return start_failed(s, "its interpreter spoke out of turn", e);
	return start_failed(s, "stepjail ended and gave no reason", e);
}

void session_end_jail(struct session *s, uint64_t patience_ms,
		      struct verdict_facts *facts)
{
	uint64_t deadline_ms = units_now_ms() + patience_ms;

	io_close_fd(&s->socket); /* the interpreter ends when its stream does */
	while (s->child.pid > 0 && s->report_fd >= 0 && units_left_ms(deadline_ms)) {
		struct pollfd p[] = {
			{ .fd = s->report_fd, .events = POLLIN },
			{ .fd = s->diag_fd, .events = POLLIN },
		};

		if (poll(p, 2, units_poll_ms(deadline_ms)) <= 0)
			continue;
		if (p[0].revents)
			drain(&s->report_fd, NULL, &s->report);
		if (p[1].revents)
			drain(&s->diag_fd, &s->diag, NULL);
	}
	(void)launch_end(&s->child, patience_ms ? SESSION_GRACE_MS : 0);
	/* whatever the pipes still hold, but no more than they can hold */
	for (int i = 0; i < 32 && (s->report_fd >= 0 || s->diag_fd >= 0); i++) {
		drain(&s->report_fd, NULL, &s->report);
		drain(&s->diag_fd, &s->diag, NULL);
	}
	if (!report_read(text_string(&s->report), s->report.length, facts))
		facts->verdict = VERDICT_LAUNCHER_ERROR;
	io_close_fd(&s->report_fd);
	io_close_fd(&s->diag_fd);
	text_free(&s->report);
	text_clear(&s->to_send);
	s->sent = 0;
	s->reader.have = 0;
}

int session_open(struct session *s, const struct session_plan *plan, struct stop *stop,
		 struct err *e)
{
	memset(s, 0, sizeof(*s));
	s->plan = plan;
	s->stop = stop;
	s->child.pidfd = -1;
	s->socket = -1;
	s->report_fd = -1;
	s->diag_fd = -1;
	s->report.max = REPORT_MAX_BYTES;
	return session_start_jail(s, e);
}

void session_close(struct session *s)
{
	struct verdict_facts unused;

	if (s->plan)
		session_end_jail(s, 0, &unused);
	text_free(&s->to_send);
	s->plan = NULL;
}
