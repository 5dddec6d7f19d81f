/* SPDX-License-Identifier: MIT */
/*
 * supervisor.c - sessions for one client, on the socket that fd 0 is: see supervisor.h
 *
 * Theory of operation
 *   One loop (event_loop.h), one plan for all sessions. What the client asks for goes
 *   through request.c; what sessions answer waits in a queue, which is sent when the turn
 *   is over. Above QUEUE_HIGH nothing more is taken in, neither from the client nor from
 *   the pipes of steps, until it has read: then steps wait in write(2), and the
 *   supervisor does not grow. What takes rights, the spawner does (spawn.h): sessions
 *   ask it by themselves (session_spawn.c), and what it tells comes in here.
 */
#include <string.h>

#include "jail/base/fd_passing.h"
#include "jail/serve/request.h"
#include "jail/serve/supervisor.h"

static void pause_steps(struct session *s)
{
	for (struct step *step = s->steps; step; step = step->next)
		(void)step_listen(step, !s->serve->paused);
}

/* what waits is sent as far as the client takes it; decides who may go on */
static void flush(struct serve *s)
{
	int r = queue_send(&s->queue, s->client.fd);
	bool paused = s->paused;
	uint32_t events;

	if (r < 0) /* nobody reads any more */
		s->ending = true;
	if (queue_length(&s->queue) > QUEUE_HIGH)
		paused = true;
	else if (queue_length(&s->queue) < QUEUE_LOW)
		paused = false;
	if (paused != s->paused || (s->media_held && !paused)) {
		s->paused = paused;
		s->media_held = s->media_held && paused;
		session_each(s, pause_steps);
	}
	/* none before it is listened to, and never none after that: its end is heard even
	 * then */
	events = (paused ? EPOLLRDHUP : EPOLLIN) | (r > 0 ? EPOLLOUT : 0);
	if (!s->ending && s->client.events)
		(void)event_loop_listen(&s->loop, &s->client, events);
}

static void serve_client(struct port *p)
{
	struct serve *s = p->owner;
	int r = 0;

	if (!(p->came & EPOLLIN)) {
		/* paused, and its end is closed */
		if (p->came & (EPOLLHUP | EPOLLERR | EPOLLRDHUP))
			serve_end(s, 0);
		return;
	}
	r = wire_reader_fill(&s->reader, p->fd);
	if (r > 0) {
		struct wire_header h;
		const unsigned char *payload = wire_reader_take(&s->reader, &h);

		request_serve(s, &h, payload);
	} else if (r == -ENODATA || r == -ECONNRESET) {
		serve_end(s, 0);
	} else if (r < 0 && r != -EAGAIN && r != -EINTR) {
		(void)err_say(&s->error, -r,
			      "serve: the client sent bytes that are no frames: %s",
			      r == -EMSGSIZE  ? "one is too long"
			      : r == -EPIPE   ? "the last frame is cut off"
			      : r == -EBADMSG ? "a frame of unknown type"
					      : strerror(-r));
		serve_end(s, r);
	}
}

static struct session *find_jail(struct serve *serve, uint32_t jail)
{
	for (unsigned int i = 0; i < SERVE_BUCKETS; i++)
		for (struct session *s = serve->bucket[i]; s; s = s->next)
			if (s->jail == jail)
				return s;
	return NULL;
}

static void take(struct serve *serve, const struct spawn_answer *a, int *fds)
{
	struct session *s = find_jail(serve, a->number);
	struct err e = { .errnum = (int)a->errnum };

	memcpy(e.text, a->text, sizeof(e.text));
	if (a->kind == SPAWN_TEMPLATE) {
		/* the client waited for that, as for any program that starts */
		if (event_loop_listen(&serve->loop, &serve->client, EPOLLIN) < 0)
			serve_end(serve, STATUS_FAILED);
	} else if (a->kind == SPAWN_STOP) {
		serve_end(serve, STATUS_SIGNAL + (int)a->value);
	} else if (!s) {
		return;
	} else if (a->kind == SPAWN_OPENED) {
		session_opened(s, a, fds);
	} else if (a->kind == SPAWN_FAILED) {
		session_end(s, "%s", e.text);
	} else if (a->kind == SPAWN_ENDED) {
		session_ended(s, e.errnum ? &e : NULL);
	} else if (a->kind == SPAWN_MEASURED) {
		measure_came(s, a);
	} else if (a->kind == SPAWN_UNSENT) {
		session_end(s, "a process of it cannot be sent a signal: %s",
			    strerror(e.errnum));
	}
}

static void serve_spawner(struct port *p)
{
	struct serve *serve = p->owner;
	struct spawn_answer a;
	int came[SPAWN_FDS], fds[SPAWN_FDS];
	int r = fd_passing_receive(p->fd, &a, sizeof(a), came, SPAWN_FDS);

	if (r >= 0) {
		/* each in its place of enum spawn_fd, -1 for those that did not come */
		for (int i = 0, next = 0; i < SPAWN_FDS; i++)
			fds[i] = a.fds & 1u << i ? came[next++] : -1;
		take(serve, &a, fds);
		for (int i = 0; i < SPAWN_FDS; i++)
			io_close_fd(&fds[i]);
		return;
	}
	/* it was killed, and every jail with it: there is nothing to wait for */
	serve->lost = true;
	serve->status = STATUS_FAILED;
	event_loop_close(&serve->loop, p);
}

static int start(struct serve *s, const struct plan *p, int spawner, struct err *e)
{
	int r = event_loop_open(&s->loop, e);

	s->plan = p;
	s->client = PORT(STDIN_FILENO, serve_client, s);
	if (r < 0)
		return r;
	s->spawner = PORT(spawner, serve_spawner, s);
	r = event_loop_listen(&s->loop, &s->spawner, EPOLLIN);
	return r < 0 ? err_set(e, -r, "serve: epoll_ctl") : 0;
}

int supervisor_serve(const struct plan *p, const struct tree *root, int spawner,
		     const struct confinement *told, struct err *e)
{
	static struct serve s;
	int r;

	s.confinement = told;
	s.root = root;
	r = start(&s, p, spawner, e);
	while (r == 0 && !s.lost && (!s.ending || s.sessions)) {
		r = event_loop_turn(&s.loop, e);
		if (r == 0)
			flush(&s);
		if (s.ending)
			serve_end(&s, 0);
	}
	(void)queue_send(&s.queue, s.client.fd);
	queue_end(&s.queue);
	if (r == 0 && s.status < 0) {
		*e = s.error;
		r = s.status;
	}
	return r < 0 ? r : s.status;
}
