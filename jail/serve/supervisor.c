/* SPDX-License-Identifier: MIT */
/*
 * supervisor.c - sessions for one client, on the socket that fd 0 is: see supervisor.h
 *
 * Theory of operation
 *   One loop (event_loop.h), one plan for all sessions. What the client asks for goes
 *   through request.c; what sessions answer waits in a queue, which is sent when the turn
 *   is over. Above QUEUE_HIGH nothing more is taken in, neither from the client nor from
 *   the pipes of steps, until it has read: then steps wait in write(2), and the
 *   supervisor does not grow. What takes rights, the spawner does: spawn.h.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "init/io.h"
#include "jail/serve/session/session.h"
#include "jail/serve/spawn.h"
#include "jail/serve/supervisor.h"

/* a frame that is missing would be a lie */
void serve_lacks(struct serve *s, int r, size_t bytes)
{
	if (r == 0 || s->status != 0)
		return;
	s->status = r;
	(void)err_set(&s->error, -r, "serve: %zu bytes for the client", bytes);
	s->ending = true;
}

void serve_put(struct serve *s, uint16_t type, uint32_t session, uint32_t branch,
	       const void *payload, size_t length)
{
	const struct serve_at at = { branch };
	struct session *of = session_find(s, session);
	struct queue *held = of ? shared_holds(of, branch) : NULL;

	serve_lacks(s,
		    queue_put(held ? held : &s->queue, type, session, &at, sizeof(at),
			      payload, length),
		    length);
}

static void each_session(struct serve *s, void (*act)(struct session *session))
{
	for (unsigned int i = 0; i <= SERVE_BUCKETS; i++)
		for (struct session *at = s->bucket[i], *next; at; at = next) {
			next = at->next;
			act(at);
		}
}

static void end_session(struct session *s)
{
	if (s->phase != PHASE_CLOSING)
		s->ended = REFUSAL_STOPPED;
	session_end(s, "serve has ended");
}

void serve_end(struct serve *s, int status)
{
	if (s->status == 0)
		s->status = status;
	s->ending = true;
	(void)event_loop_listen(&s->hub, &s->client, 0);
	each_session(s, end_session);
}

static void pause_steps(struct session *s)
{
	for (struct step *step = s->steps; step; step = step->next)
		step_listen(step, !s->serve->paused);
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
		each_session(s, pause_steps);
	}
	/* never none at all: its end is heard even then */
	events = (paused ? EPOLLRDHUP : EPOLLIN) | (r > 0 ? EPOLLOUT : 0);
	if (!s->ending)
		(void)event_loop_listen(&s->hub, &s->client, events);
}

static void serve_client(struct port *p, uint32_t events)
{
	struct serve *s = p->owner;
	int r = 0;

	if (!(events & EPOLLIN)) {
		/* paused, and its end is closed */
		if (events & (EPOLLHUP | EPOLLERR | EPOLLRDHUP))
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
			      "serve: the client's stream is not one of frames: %s",
			      r == -EMSGSIZE  ? "one is too long"
			      : r == -EPIPE   ? "it ends within one"
			      : r == -EBADMSG ? "one has no known type"
					      : strerror(-r));
		serve_end(s, r);
	}
}

static int start(struct serve *s, const struct plan *p, int spawner, struct err *e)
{
	int r = event_loop_open(&s->hub, e);

	s->plan = p;
	s->client = PORT(STDIN_FILENO, serve_client, s);
	spare_open(s);
	return r < 0 ? r : spawn_attach(s, spawner, e);
}

/* before the client is listened to, which waits for it as for any program that starts */
static int await_template(struct serve *s, struct err *e)
{
	int r = 0;

	while (r == 0 && !s->ending && !s->lost && !s->template_told)
		r = event_loop_turn(&s->hub, e);
	if (r < 0 || s->ending || s->lost)
		return r;
	r = event_loop_listen(&s->hub, &s->client, EPOLLIN);
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
	if (r == 0)
		r = await_template(&s, e);
	while (r == 0 && !s.lost &&
	       (!s.ending || s.sessions || s.bucket[SERVE_BUCKETS])) {
		r = event_loop_turn(&s.hub, e);
		if (r == 0)
			flush(&s);
		if (s.ending)
			serve_end(&s, 0);
		spare_turn(&s);
	}
	(void)queue_send(&s.queue, s.client.fd);
	queue_end(&s.queue);
	if (r == 0 && s.status < 0) {
		*e = s.error;
		r = s.status;
	}
	return r < 0 ? r : s.status;
}
