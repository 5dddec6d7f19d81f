/* SPDX-License-Identifier: MIT */
/*
 * session_ask.c - a step, or a file operation, is asked of a state
 */
#include <stdlib.h>
#include <string.h>

#include "jail/serve/wire/channel.h"
#include "jail/serve/wire/packet.h"
#include "jail/serve/session/session.h"
#include "jail/watch/startup.h"

/* In no list yet; NULL without memory */
static struct step *make(struct session *s, enum step_kind kind, uint32_t number,
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
	return step;
}

/* Its state and pipes; @fds gets its ends of them. */
static int make_fds(struct step *step, int *fds, struct err *e)
{
	int channel = -1;
	int r = channel_pair(&channel, &fds[STEP_FD_CHANNEL], e);

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

int step_ask(struct step *step, struct state *of, const struct wire_header *h,
	     const void *payload, int *fds, size_t count, struct err *e)
{
	int r;

	if (!of)
		return err_say(e, ESRCH, "the state has ended");
	if (memory_wait(step, h, payload, fds, count))
		return 0;
	if (!memory_allows(step->session, of))
		return err_say(
			e, EDQUOT,
			"--memory has no room for another process: ROLLBACK to a smaller state, or DROP branches");
	r = event_loop_listen(&of->session->serve->loop, &step->state->channel, EPOLLIN);
	if (r < 0)
		return err_set(e, -r, "serve: epoll_ctl");
	r = packet_send(of->channel.fd, h, payload, fds, count);
	if (r < 0)
		return err_set(e, -r, "state %u does not answer: ROLLBACK to another one",
			       of->number);
	/* when it was asked for */
	step->state->woken_ms = clock_now_ms();
	park_wake(of);
	return 0;
}

/*
 * Ask a state for the process of a step. @step: NULL where there was no memory for it;
 * one that cannot be asked for is forgotten. @fds: STEP_FDS of them, all taken; gets the
 * ends of its pipes. @count: how many of them are sent
 */
static int begin(struct step *step, struct state *of, const struct wire_header *h,
		 const void *payload, int *fds, size_t count, struct err *e)
{
	int r = step ? make_fds(step, fds, e) : err_set(e, ENOMEM, "serve: a step");
	struct session *s = step ? step->session : NULL;

	if (r == 0)
		r = step_ask(step, of, h, payload, fds, count, e);
	if (r == 0 && s && step_listen(step, !s->serve->paused) < 0)
		r = err_say(e, ENOMEM, "serve: epoll_ctl");
	for (int i = 0; i < STEP_FDS; i++)
		io_close_fd(&fds[i]);
	if (r < 0 || !s) {
		if (step)
			step_discard(step);
		return r;
	}
	step->next = s->steps;
	s->steps = step;
	s->serve->steps++;
	/* until its process is there */
	event_loop_set(&s->serve->loop, &step->wall, clock_now_ms() + STARTUP_MS);
	return 0;
}

int step_run(struct session *s, struct branch *b, int source,
	     const struct step_limits *limits, struct err *e)
{
	int fds[STEP_FDS] = { -1, -1, -1, -1, source };
	struct step *step = make(s, KIND_RUN, s->next_step, b->name, b->head);
	const struct wire_header h = { 0, WIRE_RUN, s->next_step };
	int r = begin(step, states_find(&s->states, b->head), &h, NULL, fds, STEP_FDS, e);

	if (r < 0)
		return r;
	s->next_step++;
	b->step = step;
	step->limits = *limits;
	return 0;
}

void step_once(struct session *s)
{
	struct once *o = &s->once;
	struct err e;

	if (o->is && o->awaits == 0 &&
	    step_run(s, states_branch(&s->states, 0), io_steal_fd(&o->source), &o->limits,
		     &e) < 0)
		session_end(s, "%s", e.text);
}

int step_file(struct session *s, uint32_t branch, enum step_kind kind, uint32_t mode,
	      const char *path, size_t path_bytes, int data, struct err *e)
{
	static const uint32_t ops[] = {
		[KIND_PUT] = STEP_FILE_PUT,
		[KIND_GET] = STEP_FILE_GET,
		[KIND_LIST] = STEP_FILE_LIST,
	};
	int fds[STEP_FDS] = { -1, -1, -1, -1, -1 };
	unsigned char payload[sizeof(struct step_file) + STEP_PATH_MAX];
	uint64_t most = s->serve->plan->limit[LIMIT_WORK_BYTES];
	const struct step_file ask_for = {
		ops[kind], mode, kind != KIND_PUT && mode && mode < most ? mode : most
	};
	const struct wire_header h = { (uint32_t)(sizeof(ask_for) + path_bytes),
				       WIRE_FILE, ++s->file_ops };
	struct step *step = make(s, kind, s->file_ops, branch, 0);
	int r;

	memcpy(payload, &ask_for, sizeof(ask_for));
	memcpy(payload + sizeof(ask_for), path, path_bytes);
	fds[STEP_FD_DATA] = data;
	r = begin(step, states_find(&s->states, 0), &h, payload, fds, STEP_FILE_FDS, e);
	if (r == 0)
		step->limits.wall_ms = s->serve->plan->limit[LIMIT_WALL_MS];
	return r;
}
