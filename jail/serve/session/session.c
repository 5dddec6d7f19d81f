/* SPDX-License-Identifier: MIT */
/*
 * session.c - a session's jail, from its launch to its end: see session.h
 *
 * Theory of operation
 *   session_open() launches the jail as `run` does; stand.c then takes READY and the gate,
 *   and the interpreter says STARTED on its channel. From then on init tells of each
 *   process that ends: that, and no end of file, is how a step or a state is known to be
 *   gone. session_end() kills, and when the pidfd says that the kernel is done, the leaf
 *   is removed, everything is freed and the client hears CLOSED. Nothing waits meanwhile.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "init/init.h"
#include "init/io.h"
#include "jail/serve/packet.h"
#include "jail/serve/session/session.h"
#include "jail/base/clock.h"
#include "jail/watch/startup.h"

#define FRAMES_A_TURN 1024 /* of init; its socket holds fewer */

struct session *session_find(struct serve *serve, uint32_t number)
{
	struct session *s = serve->bucket[number % SERVE_BUCKETS];

	while (s && s->number != number)
		s = s->next;
	return s;
}

static void free_session(struct later *l)
{
	struct session *s = (struct session *)((char *)l - offsetof(struct session, end));

	/* as it was made */
	(void)munmap(s, sizeof(*s));
}

static struct session **list_of(struct session *s)
{
	return s->waits ? &s->serve->ready.first
			: &s->serve->bucket[s->number % SERVE_BUCKETS];
}

static void list(struct session *s)
{
	struct session **at = list_of(s);

	s->next = *at;
	*at = s;
	s->serve->sessions += !s->waits;
}

/* out of the table, and all that it holds closed */
static void forget(struct session *s)
{
	struct event_loop *hub = &s->serve->hub;
	struct session **at = list_of(s);

	while (*at && *at != s)
		at = &(*at)->next;
	if (*at) {
		*at = s->next;
		s->serve->sessions -= !s->waits;
	}
	event_loop_close(hub, &s->diagnostics);
	(void)event_loop_listen(hub, &s->pidfd, 0);
	launch_end(&s->run.jail);
	template_pool_release(&s->serve->stock, s->from);
	tmpfs_usage_close(&s->run.room);
	posture_end(&s->run.outcome.posture);
	io_close_fd(&s->put.data);
	io_close_fd(&s->once.source);
	event_loop_later(hub, &s->end, free_session);
}

/* the kernel has ended every process of it */
static void serve_pidfd(struct port *p, uint32_t events)
{
	struct session *s = p->owner;

	(void)events;
	if (!launch_gone(&s->run.jail))
		return;
	if (s->opened)
		say_closed(s);
	else if (!s->waits)
		say_refused(s->serve, s->number, 0,
			    &(struct refusal){
				    .kind = s->ended,
				    .frame = s->once.is ? WIRE_ONCE : WIRE_OPEN,
			    },
			    s->reason);
	forget(s);
}

/* a jail that never was, or whose end cannot be waited for with the others */
static void end_now(struct session *s)
{
	launch_wait(&s->run.jail);
	serve_pidfd(&s->pidfd, 0);
}

static void end_steps(struct session *s)
{
	while (s->steps) {
		struct step *step = s->steps;

		if (step->killed == KILL_NONE && !step->have_exit)
			step->killed = KILL_CANCELLED;
		done_step(step);
	}
}

void session_end(struct session *s, const char *fmt, ...)
{
	struct event_loop *hub = &s->serve->hub;
	va_list ap;

	if (s->phase == PHASE_CLOSING)
		return;
	s->serve->standing -= s->phase == PHASE_STANDING;
	s->phase = PHASE_CLOSING;
	va_start(ap, fmt);
	(void)vsnprintf(s->reason, sizeof(s->reason), fmt, ap);
	va_end(ap);
	if (s->waits)
		spare_lost(s);
	launch_kill(&s->run.jail);
	event_loop_unset(hub, &s->stand);
	event_loop_unset(hub, &s->flood);
	event_loop_unset(hub, &s->exits);
	sweep_stop(s);
	end_steps(s);
	prefork_end_all(s);
	if (s->first)
		state_free(s->first);
	s->first = NULL;
	for (unsigned int i = 0; i < s->states.count; i++)
		state_free(s->states.state[i]);
	for (unsigned int i = 0; i < s->states.branches; i++)
		io_close_fd(&s->states.branch[i].source);
	s->states.count = s->states.branches = 0;
	if (s->listener.fd < 0) /* it came, and nobody listens to it yet */
		io_close_fd(&s->run.outcome.refused.fd);
	event_loop_close(hub, &s->listener);
	s->run.outcome.refused.fd = -1;
	/* by their own fds: launch.c closes these two */
	(void)event_loop_listen(hub, &s->control, 0);
	(void)event_loop_listen(hub, &s->gate, 0);
	io_close_fd(&s->run.jail.control);
	s->control.fd = s->gate.fd = -1;
	s->pidfd = PORT(s->run.jail.pidfd, serve_pidfd, s);
	if (s->run.jail.pid <= 0 || event_loop_listen(hub, &s->pidfd, EPOLLIN) < 0)
		end_now(s);
}

/* the launcher's own words, or the jail's, or what the interpreter said last */
static void end_unopened(struct session *s)
{
	struct judgement j;

	outcome_judge(&s->run.outcome, s->serve->plan, &j);
	if (s->run.outcome.started)
		session_end(s, "the interpreter did not start: %s%s%s", j.error.text,
			    s->diagnostic[0] ? ": " : "", s->diagnostic);
	else
		session_end(s, "%s", j.error.text);
}

static void serve_stand(struct bell *b)
{
	struct session *s = b->owner;

	startup_late(&s->run);
	end_unopened(s);
}

/* the listener came through the gate, and there is nothing more to hear there */
static void look_at_gate(struct session *s)
{
	struct run *run = &s->run;

	if (run->ended) {
		end_unopened(s);
		return;
	}
	if (run->outcome.refused.fd >= 0 && s->listener.fd < 0)
		notify_open(s);
}

static void serve_gate(struct port *p, uint32_t events)
{
	struct session *s = p->owner;

	(void)events;
	/* stand.c closes it, now or when init is ready as well */
	(void)event_loop_listen(&s->serve->hub, p, 0);
	p->fd = -1;
	startup_gate(&s->run);
	look_at_gate(s);
}

static void take_frame(struct session *s)
{
	struct wire_header h;
	const unsigned char *payload = wire_reader_take(&s->run.reader, &h);
	struct wire_exit exit;

	if (h.type == WIRE_EXIT && h.length == sizeof(exit) && s->run.outcome.started) {
		memcpy(&exit, payload, sizeof(exit));
		if (s->phase == PHASE_OPEN) {
			done_process(s, (pid_t)h.step, &exit);
		} else if (h.step == INIT_PROGRAM_PID) {
			s->run.outcome.exit = exit;
			s->run.outcome.have_exit = true;
			session_end(s,
				    "the interpreter ended at its start (wait status "
				    "%#x)%s%s",
				    exit.wstatus, s->diagnostic[0] ? ": " : "",
				    s->diagnostic);
		}
		return;
	}
	if (!startup_frame(&s->run, &h, payload))
		session_end(
			s,
			"the jail's init sent a frame of type %u with %u bytes, which is "
			"not due here",
			h.type, h.length);
	else if (s->run.ended)
		end_unopened(s);
}

/*
 * A jail can make processes that end at once, all day, and init tells of each. Whoever has
 * taken the end of one that serve does not know takes no more for a moment, and then all
 * that came meanwhile. When its socket is full, init waits, and the jail for init.
 */
static void serve_control(struct port *p, uint32_t events)
{
	struct session *s = p->owner;
	int r = 1;

	(void)events;
	for (int i = 0; i < FRAMES_A_TURN && r >= 0 && p->fd >= 0; i++) {
		r = wire_reader_fill(&s->run.reader, p->fd);
		if (r > 0)
			take_frame(s);
	}
	if (p->fd >= 0 && r < 0 && r != -EINTR && r != -EAGAIN)
		session_end(s, "the jail's init has ended");
	else if (s->exits.at_ms)
		(void)event_loop_listen(&s->serve->hub, p, 0);
}

static void ring_exits(struct bell *b)
{
	struct session *s = b->owner;

	(void)event_loop_listen(&s->serve->hub, &s->control, EPOLLIN);
}

static int listen_all(struct session *s, struct err *e)
{
	struct event_loop *hub = &s->serve->hub;
	int r;

	s->control = PORT(s->run.jail.control, serve_control, s);
	s->gate = PORT(s->run.jail.gate, serve_gate, s);
	/* of a socket that cannot fail */
	(void)fcntl(s->control.fd, F_SETFL, O_NONBLOCK);
	r = event_loop_listen(hub, &s->control, EPOLLIN);
	if (r == 0)
		r = event_loop_listen(hub, &s->gate, EPOLLIN);
	if (r == 0)
		r = event_loop_listen(hub, &s->diagnostics, EPOLLIN);
	if (r == 0)
		r = event_loop_listen(hub, &s->first->channel, EPOLLIN);
	return r < 0 ? err_set(e, -r, "serve: epoll_ctl") : 0;
}

/* Mapped, not allocated: it has room for a frame and for many states, and of a page that
 * is never used none is taken. */
static struct session *make(struct serve *serve)
{
	struct session *s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (s == MAP_FAILED)
		return NULL;
	s->serve = serve;
	s->once.source = -1;
	s->put.data = -1;
	s->run.jail = JAIL_NONE;
	s->run.room = TMPFS_USAGE_NONE;
	s->run.outcome.refused.fd = -1;
	s->run.signals = -1;
	s->control.fd = s->gate.fd = s->listener.fd = s->pidfd.fd = -1;
	s->diagnostics.fd = -1;
	s->stand = (struct bell){ .ring = serve_stand, .owner = s };
	s->exits = (struct bell){ .ring = ring_exits, .owner = s };
	return s;
}

/* or nothing is left of it */
static int launch(struct session *s, struct err *e)
{
	struct serve *serve = s->serve;
	int r = step_first(s, e);

	if (r == 0)
		r = template_pool_launch(&serve->stock, &s->run.jail, &s->from, e);
	if (r == 0)
		r = listen_all(s, e);
	if (r == 0) {
		serve->standing++;
		event_loop_set(&serve->hub, &s->stand, clock_now_ms() + STARTUP_MS);
		return 0;
	}
	/* nothing was promised yet: the caller tells it */
	launch_kill(&s->run.jail);
	(void)event_loop_listen(&serve->hub, &s->control, 0);
	(void)event_loop_listen(&serve->hub, &s->gate, 0);
	for (int fd = 0; fd <= 2; fd++)
		io_close_fd(&s->run.jail.stdio[fd]);
	if (s->first)
		state_free(s->first);
	forget(s);
	return r;
}

int session_open(struct serve *serve, uint32_t number, struct once *once, struct err *e)
{
	struct session *taken = spare_take(serve), *s = taken ? taken : make(serve);

	if (!s)
		return err_set(e, ENOMEM, "serve: a session");
	s->number = number;
	if (once) {
		s->once = *once;
		once->source = -1;
	}
	list(s);
	if (!taken)
		return launch(s, e);
	if (s->phase == PHASE_OPEN)
		spare_begin(s);
	return 0;
}

int session_prepare(struct serve *serve, struct err *e)
{
	struct session *s = make(serve);

	if (!s)
		return err_set(e, ENOMEM, "serve: a session");
	s->waits = true;
	list(s);
	return launch(s, e);
}
