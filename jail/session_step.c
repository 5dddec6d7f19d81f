/* SPDX-License-Identifier: MIT */
/*
 * session_step.c - a step, or a file operation, from the request to its last packet
 *
 * Theory of operation
 *   A step is asked of a state with five fds; its process then speaks on a channel of its
 *   own. What comes there is the step's word: it is believed where it speaks of itself
 *   alone (how it ended, its texts), within bounds, and never about who it is: that is
 *   the kernel's word (sweep_adopt()). A step that closes its channel is one that will
 *   end without DONE, or by its clock.
 *   Its process may end at any time; what it said before is then still in the channel, and
 *   is taken first.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "init/init.h"
#include "init/io.h"
#include "jail/packet.h"
#include "jail/session.h"
#include "jail/stand.h"

#define PACKETS_A_TURN 16 /* of one channel: there are others to serve */
#define PACKETS_HELD 1024 /* more than a socket's buffer has room for */

static void free_state(struct later *l)
{
	free((char *)l - offsetof(struct state, end));
}

void state_free(struct state *state)
{
	hub_close(&state->session->serve->hub, &state->channel);
	io_close_fd(&state->pidfd);
	image_drop(&state->image);
	hub_later(&state->session->serve->hub, &state->end, free_state);
}

static void serve_channel(struct port *p, uint32_t events)
{
	(void)events;
	step_receive(p->owner);
}

struct state *state_new(struct session *s, uint32_t number, int channel)
{
	struct state *state = calloc(1, sizeof(*state));

	if (!state)
		return NULL;
	state->session = s;
	state->number = number;
	state->pidfd = -1;
	state->channel = PORT(channel, serve_channel, state);
	return state;
}

static void free_step(struct later *l)
{
	struct step *step = (struct step *)((char *)l - offsetof(struct step, end));

	free(step->input);
	free(step);
}

void step_forget(struct step *step)
{
	struct session *s = step->session;
	struct hub *hub = &s->serve->hub;
	struct step **at = &s->steps;
	struct branch *b = states_branch(&s->states, step->branch);

	while (*at && *at != step)
		at = &(*at)->next;
	if (*at) {
		*at = step->next;
		s->serve->steps--;
	}
	if (b && b->step == step)
		b->step = NULL;
	limit_end(step);
	for (int i = 0; i < CAPTURE_STREAMS; i++)
		hub_close(hub, &step->out[i].port);
	hub_close(hub, &step->in);
	hub_later(hub, &step->end, free_step);
}

void step_refuse(struct step *step, int errnum, const char *text)
{
	char words[ERR_TEXT_MAX];

	(void)snprintf(words, sizeof(words), "step %u: %s%s%s", step->number, text,
		       errnum ? ": " : "", errnum ? strerror(errnum) : "");
	if (step->kind >= KIND_COMPARE) {
		image_done(step, words);
		return;
	}
	say_error(step->session->serve, step->session->number, step->branch, WIRE_REFUSED,
		  "error", words);
	state_free(step->state);
	step_forget(step);
	hold_resume(step->session);
}

/* ---- the request */

static struct step *make_step(struct session *s, enum step_kind kind, uint32_t number,
			      uint32_t branch, uint32_t from)
{
	struct step *step = calloc(1, sizeof(*step));

	if (!step)
		return NULL;
	step->session = s;
	step->kind = kind;
	step->number = number;
	step->branch = branch;
	step->from = from;
	step->refused.fd = -1;
	limit_prepare(step);
	step_prepare_io(step);
	step->next = s->steps;
	s->steps = step;
	s->serve->steps++;
	s->serve->began_ms = stand_now_ms();
	return step;
}

/* the step's ends of all that it is given; -1 where there is none */
static int make_fds(struct step *step, int *fds, struct err *e)
{
	int channel = -1;
	int r = packet_pair(&channel, &fds[STEP_FD_CHANNEL], e);

	if (r == 0)
		step->state = state_new(step->session, step->number, channel);
	if (!step->state) {
		io_close_fd(&channel);
		return r < 0 ? r : err_set(e, ENOMEM, "serve: a step");
	}
	step->state->step = step;
	r = step_pipes(step, fds);
	return r < 0 ? err_set(e, -r, "serve: pipe") : 0;
}

static int listen_to(struct step *step, struct err *e)
{
	struct hub *hub = &step->session->serve->hub;
	int r = hub_listen(hub, &step->state->channel, EPOLLIN);

	for (int i = 0; i < CAPTURE_STREAMS && r == 0; i++)
		r = hub_listen(hub, &step->out[i].port,
			       step->session->serve->paused ? 0 : EPOLLIN);
	return r < 0 ? err_set(e, -r, "serve: epoll_ctl") : 0;
}

/* ask a state for a process; the fds stay the caller's */
static int ask(struct step *step, const struct state *of, const struct wire_header *h,
	       const void *payload, int *fds, size_t count, struct err *e)
{
	int r;

	if (!of)
		return err_say(e, ESRCH, "the state has ended");
	r = listen_to(step, e);
	if (r < 0)
		return r;
	r = packet_send(of->channel.fd, h, payload, fds, count);
	return r < 0 ? err_set(e, -r, "state %u does not answer: ROLLBACK to another one",
			       of->number)
		     : 0;
}

static void undo(struct step *step)
{
	if (step->state)
		state_free(step->state);
	step_forget(step);
}

int step_run(struct session *s, struct branch *b, int source, uint64_t wall_ms,
	     uint64_t cpu_ms, struct err *e)
{
	int fds[STEP_FDS] = { -1, -1, -1, -1, source };
	const struct state *of = states_find(&s->states, b->head);
	struct step *step = make_step(s, KIND_RUN, s->next_step, b->name, b->head);
	const struct wire_header h = { 0, WIRE_RUN, s->next_step };
	int r;

	if (!step)
		r = err_set(e, ENOMEM, "serve: a step");
	else
		r = make_fds(step, fds, e);
	if (r == 0)
		r = ask(step, of, &h, NULL, fds, STEP_FDS, e);
	for (int i = 0; i < STEP_FDS; i++)
		io_close_fd(&fds[i]);
	if (r < 0) {
		if (step)
			undo(step);
		return r;
	}
	s->next_step++;
	b->step = step;
	step->wall_ms = wall_ms;
	step->cpu_ms = cpu_ms;
	/* until its process is there */
	hub_set(&s->serve->hub, &step->wall, stand_now_ms() + STAND_MS);
	return 0;
}

int step_file(struct session *s, uint32_t branch, enum step_kind kind, uint32_t mode,
	      const char *path, size_t path_bytes, int data, struct err *e)
{
	static const uint32_t ops[] = {
		[KIND_PUT] = STEP_FILE_PUT,     [KIND_GET] = STEP_FILE_GET,
		[KIND_LIST] = STEP_FILE_LIST,   [KIND_COMPARE] = STEP_FILE_COMPARE,
		[KIND_IMAGE] = STEP_FILE_IMAGE, [KIND_RESTORE] = STEP_FILE_RESTORE
	};
	int fds[STEP_FDS] = { -1, -1, -1, -1, -1 };
	unsigned char payload[sizeof(struct step_file) + STEP_PATH_MAX];
	const struct step_file ask_for = { ops[kind], mode,
					   s->serve->plan->limit[LIMIT_WORK_BYTES] };
	const struct wire_header h = { (uint32_t)(sizeof(ask_for) + path_bytes),
				       WIRE_FILE, ++s->file_ops };
	struct step *step = make_step(s, kind, s->file_ops, branch, 0);
	int r = step ? make_fds(step, fds, e) : err_set(e, ENOMEM, "serve: a file");

	memcpy(payload, &ask_for, sizeof(ask_for));
	memcpy(payload + sizeof(ask_for), path, path_bytes);
	if (data >= 0)
		fds[STEP_FD_DATA] = data;
	if (r == 0)
		r = ask(step, states_find(&s->states, 0), &h, payload, fds, STEP_FILE_FDS,
			e);
	io_close_fd(&fds[STEP_FD_CHANNEL]);
	if (data < 0)
		io_close_fd(&fds[STEP_FD_DATA]);
	if (r < 0 && step)
		undo(step);
	return r;
}

/* ---- what it says */

static void take_born(struct step *step, const struct wire_header *h,
		      const unsigned char *payload, pid_t who)
{
	struct state *state = step->state;
	bool moved = h->type == WIRE_MOVED;
	struct step_born born;
	struct err e;

	if (h->length != sizeof(born) || moved != (state->host != 0))
		return;
	memcpy(&born, payload, sizeof(born));
	if (sweep_adopt(state, born.pid, who, state->host, &e) < 0) {
		if (!moved) /* nobody to kill: it is as if it had never come */
			step_refuse(step, 0, e.text);
		return;
	}
	if (moved) {
		step->threads = born.threads;
		return;
	}
	limit_begin(step);
}

static void take_done(struct step *step, const struct wire_header *h,
		      const unsigned char *payload)
{
	if (step->shot)
		return;
	if (step->kind == KIND_RUN && h->length == sizeof(step->done)) {
		memcpy(&step->done, payload, sizeof(step->done));
		step->have_done = step->done.how <= WIRE_HOW_EXIT;
	} else if (step->kind != KIND_RUN && h->length == sizeof(step->filed)) {
		memcpy(&step->filed, payload, sizeof(step->filed));
		step->have_done = true;
	}
	/* a file operation's process ends, and that is waited for */
	if (step->have_done && step->kind == KIND_RUN)
		done_step(step);
}

/* once each: more than one of a kind is nothing that an interpreter says */
static void take_text(struct step *step, const struct wire_header *h,
		      const unsigned char *payload)
{
	bool *have = h->type == WIRE_RESULT ? &step->have_result : &step->have_trace;

	if (*have || step->kind != KIND_RUN)
		return;
	*have = true;
	serve_put(step->session->serve, h->type, step->session->number, step->branch,
		  payload, h->length);
}

static void take_of_step(struct step *step, const struct wire_header *h,
			 const unsigned char *payload, pid_t who)
{
	if (h->step != step->number)
		return;
	if (h->type == WIRE_STARTED || h->type == WIRE_MOVED)
		take_born(step, h, payload, who);
	else if (who != step->state->host || who == 0)
		return; /* a child of the step's: it does not speak for it */
	else if (h->type == WIRE_RESULT || h->type == WIRE_TRACE)
		take_text(step, h, payload);
	else if (h->type == WIRE_DONE)
		take_done(step, h, payload);
}

/* the first interpreter is there */
static void take_first(struct session *s, const struct wire_header *h, pid_t who)
{
	struct state *first = s->first;
	struct err e;

	if (h->type != WIRE_STARTED || h->step != 0 || who != s->run.program)
		return;
	if (sweep_adopt(first, INIT_PROGRAM_PID, who, 0, &e) < 0) {
		session_end(s, "%s", e.text);
		return;
	}
	s->first = NULL;
	s->serve->standing--;
	s->phase = PHASE_OPEN;
	s->next_step = 1;
	s->file_ops = 1u << 31; /* numbers that no step has */
	s->counted = s->run.outcome.before;
	hub_unset(&s->serve->hub, &s->stand);
	/* an empty table has room */
	(void)states_add(&s->states, first);
	(void)states_fork(&s->states, 0, 0);
	if (!s->waits)
		ready_begin(s);
}

/* from a state that waits: it could not fork for a step */
static void take_of_state(struct state *state, const struct wire_header *h,
			  const unsigned char *payload, pid_t who)
{
	struct session *s = state->session;
	struct wire_fail fail;

	if (h->type != WIRE_FAIL || h->length != sizeof(fail) || who != state->host)
		return;
	memcpy(&fail, payload, sizeof(fail));
	for (struct step *step = s->steps; step; step = step->next)
		if (step->number == h->step && step->from == state->number &&
		    step->state->host == 0) {
			step_refuse(step, fail.errnum <= 4095 ? (int)fail.errnum : EPROTO,
				    "no process could be made for it");
			return;
		}
}

/* Return: false when nothing more is there now */
static bool receive_one(struct state *state)
{
	static unsigned char payload[STEP_TEXT_MAX];
	struct session *s = state->session;
	struct step *step = state->step;
	struct wire_header h;
	pid_t who = 0;
	int r = packet_receive(state->channel.fd, &h, payload, &who);

	if (r == -EAGAIN || r == -EINTR)
		return false;
	if (r == -EBADMSG)
		return true;
	if (r <= 0) {
		/* init tells how the process ended; until then it may live */
		(void)hub_listen(&s->serve->hub, &state->channel, 0);
		if (step && state->host == 0)
			step_refuse(step, 0, "it ended before it began");
		else if (!step && state != s->first)
			limit_signal(state, SIGKILL);
		return false;
	}
	if (state == s->first)
		take_first(s, &h, who);
	else if (step)
		take_of_step(step, &h, payload, who);
	else
		take_of_state(state, &h, payload, who);
	return true;
}

static void receive(struct state *state, int most)
{
	while (most-- > 0 && state->channel.fd >= 0 && receive_one(state))
		;
}

void step_receive(struct state *state)
{
	receive(state, PACKETS_A_TURN);
}

void step_drain(struct state *state)
{
	receive(state, PACKETS_HELD);
}

void step_exit(struct step *step, const struct wire_exit *exit)
{
	step->exit = *exit;
	step->have_exit = true;
	done_step(step);
}
