/* SPDX-License-Identifier: MIT */
/*
 * session_ask.c - a step, or a file operation, is asked of a state
 *
 * A state is asked with five fds: the channel on which the step's process will speak, its
 * stdin, stdout and stderr, and the source, a sealed memfd. See init/step_wire.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "init/io.h"
#include "jail/packet.h"
#include "jail/session.h"
#include "jail/stand.h"

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
