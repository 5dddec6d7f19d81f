/* SPDX-License-Identifier: MIT */
/*
 * serve.c - stepjail serve: sessions for one client, on the socket that fd 0 is
 *
 * Theory of operation
 *   One process, one loop (hub.h), one plan for all sessions. What the client asks for
 *   goes through request.c; what sessions answer waits in a queue, which is sent when the
 *   turn is over. Above QUEUE_HIGH nothing more is taken in, neither from the client nor
 *   from the pipes of steps, until it has read: then steps wait in write(2), and serve
 *   does not grow.
 *   serve lives as long as its client's end of the socket. If it is killed, every jail's
 *   init sees its control socket close, and the kernel ends the rest.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "init/io.h"
#include "jail/plan/allow.h"
#include "jail/base/cancel.h"
#include "jail/command.h"
#include "jail/base/host.h"
#include "jail/plan/option.h"
#include "jail/watch/outcome.h"
#include "jail/serve/session/session.h"

#define INTERPRETER "/bin/stepjail-interpreter"
#define FRAMES_A_TURN 64

void serve_put(struct serve *s, uint16_t type, uint32_t session, uint32_t branch,
	       const void *payload, size_t length)
{
	const struct serve_at at = { branch };
	int r = queue_put(&s->queue, type, session, &at, sizeof(at), payload, length);

	/* a frame that is missing would be a lie */
	if (r < 0 && s->status == 0) {
		s->status = r;
		(void)err_set(&s->error, -r, "serve: %zu bytes for the client", length);
		s->ending = true;
	}
}

static void each_session(struct serve *s, void (*act)(struct session *session))
{
	for (unsigned int i = 0; i <= SERVE_BUCKETS; i++)
		for (struct session *at = i < SERVE_BUCKETS ? s->bucket[i]
							    : s->ready.first,
				    *next;
		     at; at = next) {
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
	(void)event_loop_listen(&s->hub, &s->signals, 0);
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

static void serve_signals(struct port *p, uint32_t events)
{
	struct signalfd_siginfo info;
	struct serve *s = p->owner;

	(void)events;
	if (read(p->fd, &info, sizeof(info)) == sizeof(info))
		serve_end(s, STATUS_SIGNAL + (int)info.ssi_signo);
}

static int refuse_option(const char *name, const char *why, struct err *e)
{
	return err_say(e, EINVAL, "serve: --%s %s", name, why);
}

/* of states that were told to end, how many the kernel may not have ended yet */
#define STATES_ENDING 2

/* a step is a process beside those of the states that it may go back to */
static int check_pids(const struct plan *p, struct err *e)
{
	uint64_t keep = p->limit[LIMIT_KEEP_STATES], least = keep + 3 + STATES_ENDING;

	if (p->limit[LIMIT_PIDS] >= least)
		return 0;
	return err_say(e, EINVAL,
		       "serve: --pids %llu is less than the %llu processes of a session: "
		       "a step, the state that it begins with, state 0, %llu of "
		       "--keep-states, and %d that are ending",
		       (unsigned long long)p->limit[LIMIT_PIDS],
		       (unsigned long long)least, (unsigned long long)keep,
		       STATES_ENDING);
}

/* what a plan may say to run, and not to serve */
static int check_plan(const struct plan *p, struct err *e)
{
	if (p->argv)
		return err_say(e, EINVAL,
			       "serve: '%.64s': the program of a session is " INTERPRETER
			       " of its tree, and no other",
			       p->argv[0]);
	if (p->report)
		return refuse_option("report", "is for run: OPENED and DONE tell it", e);
	if (p->capture != CAPTURE_NO)
		return refuse_option("capture", "is for run: output goes to the client",
				     e);
	if (p->learn == ANSWER_YES)
		return refuse_option("learn", "is for run", e);
	if (p->oom_group == ANSWER_YES)
		return refuse_option("oom-group",
				     "would end all states of a session with the step "
				     "that used up the memory: leave it out",
				     e);
	return check_pids(p, e);
}

static int check_client(struct err *e)
{
	int type = 0;
	socklen_t length = sizeof(type);

	if (getsockopt(STDIN_FILENO, SOL_SOCKET, SO_TYPE, &type, &length) == 0 &&
	    type == SOCK_STREAM)
		return 0;
	return err_say(e, ENOTSOCK,
		       "serve: fd 0 is no stream socket: serve is started by a program "
		       "that speaks the frames of init/serve_wire.h with it, such as "
		       "stepjail-agent; to run a program, use stepjail run");
}

/* a host without cgroups is told now, and not to the first client that opens a session */
static int check_cgroup(const struct plan *p, struct err *e)
{
	cleanup_fd int base = -1;
	char where[128];

	if (p->allow_missing & PART_CGROUP)
		return 0;
	return cgroup_find(p, &base, where, sizeof(where), e);
}

static int start(struct serve *s, const struct plan *p, struct err *e)
{
	int r = event_loop_open(&s->hub, e);

	s->plan = p;
	s->signals = PORT(-1, serve_signals, s);
	s->client = PORT(STDIN_FILENO, serve_client, s);
	if (r == 0)
		r = cancel_open(&s->signals.fd, e);
	if (r == 0)
		r = launch_find(&s->parts, p, e);
	s->parts.keeper = &s->keeper;
	if (r == 0)
		r = keeper_start(&s->keeper, false, NULL, NULL, e);
	if (r == 0)
		r = check_cgroup(p, e);
	if (r < 0)
		return r;
	spare_open(s);
	r = (int)io_read_file_at(AT_FDCWD, "/proc/self/oom_score_adj", s->oom_base,
				 sizeof(s->oom_base));
	if (r < 0)
		return err_set(e, -r, "serve: read /proc/self/oom_score_adj");
	r = event_loop_listen(&s->hub, &s->signals, EPOLLIN);
	if (r == 0)
		r = event_loop_listen(&s->hub, &s->client, EPOLLIN);
	return r < 0 ? err_set(e, -r, "serve: epoll_ctl") : 0;
}

/* before the client is listened to, which waits for it as for any program that starts */
static int await_template(struct serve *s, struct err *e)
{
	int r = template_pool_awaits(&s->stock)
			? event_loop_listen(&s->hub, &s->client, 0)
			: 0;

	while (r == 0 && !s->ending && template_pool_awaits(&s->stock))
		r = event_loop_turn(&s->hub, e);
	if (r == 0 && !s->ending)
		r = event_loop_listen(&s->hub, &s->client, EPOLLIN);
	return r;
}

static int serve(struct serve *s, struct err *e)
{
	int r = await_template(s, e);

	while (r == 0 && (!s->ending || s->sessions || s->ready.first)) {
		r = event_loop_turn(&s->hub, e);
		if (r == 0)
			flush(s);
		if (s->ending)
			serve_end(s, 0);
		spare_turn(s);
	}
	(void)queue_send(&s->queue, s->client.fd);
	queue_end(&s->queue);
	if (r == 0 && s->status < 0) {
		*e = s->error;
		r = s->status;
	}
	return r < 0 ? r : s->status;
}

int command_serve(char *const *argv, struct err *e)
{
	static char interpreter[] = INTERPRETER, preload[] = "--preload";
	static char template[] = "--template";
	static char media[] = "--media-limit", media_bytes[24];
	static char *words[6] = { interpreter, media, media_bytes };
	static char *warm[7] = { interpreter, template, media, media_bytes };
	static struct plan plan;
	static struct serve s;
	int r = option_parse(&plan, argv, e);

	if (r < 0)
		return r;
	if (r == 1) {
		(void)printf("usage: stepjail serve [options], fd 0 being a stream "
			     "socket\n\n");
		option_print_help(stdout);
		return 0;
	}
	r = check_plan(&plan, e);
	if (r == 0)
		r = check_client(e);
	if (r < 0)
		return r;
	plan.session = true;
	if (plan.lock_code == LOCK_WARM)
		plan.lock_code = plan.cold == ANSWER_YES ? LOCK_NO : LOCK_YES;
	r = allow_check(&plan, e);
	if (r < 0)
		return r;
	if (plan.preload) {
		words[3] = preload;
		/* execve(2) does not write to it */
		words[4] = (char *)(uintptr_t)plan.preload;
		warm[4] = words[3];
		warm[5] = words[4];
	}
	(void)snprintf(media_bytes, sizeof(media_bytes), "%llu",
		       (unsigned long long)plan.limit[LIMIT_MEDIA_BYTES]);
	plan.argv = words;
	r = start(&s, &plan, e);
	if (r == 0) {
		template_pool_open(&s.stock, &s.hub, &s.parts, warm);
		r = serve(&s, e);
		template_pool_close(&s.stock);
	}

	struct err late;
	int kept = keeper_end(&s.keeper, r < 0 ? &late : e);

	if (r >= 0 && kept < 0)
		r = kept;
	if (r < 0)
		host_hint(e);
	return r;
}
