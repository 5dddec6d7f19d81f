/* SPDX-License-Identifier: MIT */
/*
 * session_life.c - a session's jail, from its launch to its end: see session.h
 *
 * Theory of operation
 *   session_open() has the spawner launch a jail; when its walls are read back and its
 *   gate is open, session_opened() gets its fds, and the interpreter says STARTED on its
 *   channel. From then on init tells of each process that ends: that, and no end of file,
 *   is how a step or a state is known to be gone. session_end() has the jail killed; when
 *   the kernel is done and the leaf is removed, everything is freed and the client hears
 *   CLOSED.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "init/init.h"
#include "jail/serve/session/session.h"
#include "jail/watch/startup.h"

#define FRAMES_A_TURN 1024 /* frames of init; its socket holds fewer */

struct session *session_find(struct serve *serve, uint32_t number)
{
	struct session *s = serve->bucket[number % SERVE_BUCKETS];

	while (s && s->number != number)
		s = s->next;
	return s;
}

/* session_open() has mapped it */
static void free_session(void *session)
{
	(void)munmap(session, sizeof(struct session));
}

/* Take the session out of the table, and close all that it holds. */
static void forget(struct session *s)
{
	struct event_loop *loop = &s->serve->loop;
	struct session **at = &s->serve->bucket[s->number % SERVE_BUCKETS];

	while (*at && *at != s)
		at = &(*at)->next;
	if (*at) {
		*at = s->next;
		s->serve->sessions--;
	}
	event_loop_close(loop, &s->diagnostics);
	tmpfs_usage_close(&s->tmpfs);
	cgroup_close(&s->cgroup);
	egress_end(&s->egress);
	io_close_fd(&s->facts);
	io_close_fd(&s->locks);
	io_close_fd(&s->put.file.fd);
	io_close_fd(&s->once.source);
	free(s->dropped);
	event_loop_later(loop, &s->end, free_session, s);
}

void session_ended(struct session *s, const struct err *e)
{
	if (e && s->serve->status == 0) {
		s->serve->status = -e->errnum;
		s->serve->error = *e;
	}
	if (s->opened)
		say_closed(s);
	else
		say_refused(s->serve, s->number, 0,
			    &(struct refusal){
				    .kind = s->ended,
				    .frame = s->once.is ? "ONCE" : "OPEN",
			    },
			    s->reason);
	forget(s);
}

static void end_steps(struct session *s)
{
	while (s->steps) {
		struct step *step = s->steps;

		if (step->killed == NOT_KILLED && !step->have_exit)
			step->killed = VERDICT_CANCELLED;
		done_step(step);
	}
}

void session_end(struct session *s, const char *fmt, ...)
{
	struct event_loop *loop = &s->serve->loop;
	va_list ap;

	if (s->phase == PHASE_CLOSING)
		return;
	s->phase = PHASE_CLOSING;
	va_start(ap, fmt);
	(void)vsnprintf(s->reason, sizeof(s->reason), fmt, ap);
	va_end(ap);
	spawn_end(s);
	event_loop_unset(loop, &s->startup);
	event_loop_unset(loop, &s->flood);
	event_loop_unset(loop, &s->exits);
	event_loop_unset(loop, &s->locked);
	sweep_stop(s);
	measure_end(s);
	end_steps(s);
	for (unsigned int i = 0; i < s->states.count; i++)
		state_free(s->states.state[i]);
	for (unsigned int i = 0; i < s->states.branches; i++)
		io_close_fd(&s->states.branch[i].source.fd);
	s->states.count = s->states.branches = 0;
	event_loop_close(loop, &s->listener);
	s->refused.fd = -1;
	event_loop_close(loop, &s->control);
}

static void serve_late(struct bell *b)
{
	struct session *s = b->owner;

	session_end(
		s,
		"the interpreter did not start within %d s: is the host out of CPU or memory?%s",
		STARTUP_MS / 1000, s->diagnostic);
}

/* Only the exec of the interpreter can fail once the gate is open. */
static void take_fail(struct session *s, const unsigned char *payload)
{
	struct wire_fail fail;
	struct err e;

	memcpy(&fail, payload, sizeof(fail));
	(void)err_say(&e, EPROTO, "%.*s", (int)sizeof(fail.text) - 1, fail.text);
	session_end(s, "the interpreter did not start: %s%s", e.text, s->diagnostic);
}

static void take_frame(struct session *s)
{
	struct wire_header h;
	const unsigned char *payload = wire_reader_take(&s->reader, &h);
	struct wire_exit exit;

	if (h.type == WIRE_EXIT && h.length == sizeof(exit)) {
		memcpy(&exit, payload, sizeof(exit));
		if (s->phase == PHASE_OPEN)
			done_process(s, (pid_t)h.step, &exit);
		else if (h.step == INIT_PROGRAM_PID)
			session_end(
				s,
				"the interpreter ended at its start (wait status %#x)%s",
				exit.wstatus, s->diagnostic);
	} else if (h.type == WIRE_FAIL && h.length == sizeof(struct wire_fail) &&
		   s->phase == PHASE_STARTING) {
		take_fail(s, payload);
	} else {
		session_end(
			s,
			"the jail's init sent an unexpected frame, of type %u with %u bytes",
			h.type, h.length);
	}
}

/* A jail can make processes that end at once, without end, and init tells of each. After
 * the end of a process that serve does not know, serve takes no more of these frames for
 * a moment, and then all that came meanwhile. When init's socket is full, init waits, and
 * the jail waits for init. */
static void serve_control(struct port *p)
{
	struct session *s = p->owner;
	int r = 1;

	for (int i = 0; i < FRAMES_A_TURN && r >= 0 && p->fd >= 0; i++) {
		r = wire_reader_fill(&s->reader, p->fd);
		if (r > 0)
			take_frame(s);
	}
	if (p->fd >= 0 && r < 0 && r != -EINTR && r != -EAGAIN)
		session_end(s, "the jail's init has ended");
	else if (s->exits.at_ms)
		(void)event_loop_listen(&s->serve->loop, p, 0);
}

static void ring_exits(struct bell *b)
{
	struct session *s = b->owner;

	(void)event_loop_listen(&s->serve->loop, &s->control, EPOLLIN);
}

/* Take over a jail that the spawner has opened. Each fd is the session's from here on. */
static int adopt(struct session *s, const struct spawn_answer *a, int *fds, struct err *e)
{
	struct event_loop *loop = &s->serve->loop;
	int r;

	s->init = a->init;
	s->program = a->program;
	s->listened = fds[SPAWN_LISTENER] >= 0;
	for (int i = 1; i < CGROUP_HELD; i++) {
		s->cgroup.held[i] = io_steal_fd(&fds[SPAWN_HELD + i - 1]);
		s->limited |= s->cgroup.held[i] >= 0;
	}
	s->facts = io_steal_fd(&fds[SPAWN_FACTS]);
	s->locks = io_steal_fd(&fds[SPAWN_LOCKS]);
	s->tmpfs.work = io_steal_fd(&fds[SPAWN_WORK]);
	s->tmpfs.tmp = io_steal_fd(&fds[SPAWN_TMP]);
	for (int i = 0; i < EGRESS_FDS; i++)
		s->egress.fd[i] = io_steal_fd(&fds[SPAWN_PROXY + i]);
	if (egress_map(&s->egress, e) < 0)
		return -e->errnum;
	s->start_ms = clock_now_ms();
	s->control = PORT(io_steal_fd(&fds[SPAWN_CONTROL]), serve_control, s);
	r = event_loop_listen(loop, &s->control, EPOLLIN);
	if (r < 0)
		return err_set(e, -r, "serve: epoll_ctl");
	if (s->listened)
		notify_open(s, io_steal_fd(&fds[SPAWN_LISTENER]));
	return step_first(s, io_steal_fd(&fds[SPAWN_CHANNEL]),
			  io_steal_fd(&fds[SPAWN_DIAGNOSTICS]), e);
}

void session_opened(struct session *s, const struct spawn_answer *a, int *fds)
{
	struct err e;

	/* the client has closed the session meanwhile */
	if (s->phase != PHASE_STARTING)
		return;
	event_loop_set(&s->serve->loop, &s->startup, clock_now_ms() + STARTUP_MS);
	if (adopt(s, a, fds, &e) < 0)
		session_end(s, "%s", e.text);
}

/* Mapped, not allocated: the struct has room for a frame and for many states, and pages
 * of it that are never used take no memory. */
int session_open(struct serve *serve, uint32_t number, struct once *once, struct err *e)
{
	struct session *s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct session **at = &serve->bucket[number % SERVE_BUCKETS];

	if (s == MAP_FAILED)
		return err_set(e, ENOMEM, "serve: a session");
	s->serve = serve;
	s->number = number;
	s->once = *once;
	once->source = -1;
	s->put.file.fd = -1;
	s->tmpfs = TMPFS_USAGE_NONE;
	s->cgroup = CGROUP_NONE;
	s->egress = EGRESS_NONE;
	s->facts = s->locks = s->refused.fd = -1;
	s->control.fd = s->listener.fd = s->diagnostics.fd = -1;
	s->startup = (struct bell){ .ring = serve_late, .owner = s };
	s->exits = (struct bell){ .ring = ring_exits, .owner = s };
	s->next = *at;
	*at = s;
	serve->sessions++;
	spawn_open(s);
	return 0;
}

void session_each(struct serve *s, void (*act)(struct session *session))
{
	for (unsigned int i = 0; i < SERVE_BUCKETS; i++)
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
	(void)event_loop_listen(&s->loop, &s->client, 0);
	session_each(s, end_session);
}
