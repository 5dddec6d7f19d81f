/* SPDX-License-Identifier: MIT */
/*
 * session_ask.c - a step, or a file operation, is asked of a state
 *
 * Theory of operation
 *   A step may have a process already (session_prefork.c), which is given the source
 *   alone. That process could end before it has read it. The kernel tells: what is in its
 *   queue unread makes stepjail's end of the channel fail with ECONNRESET, once. Then the
 *   source has not run, and the state itself is asked, as where no process is ready.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "init/init.h"
#include "init/io.h"
#include "jail/serve/wire/channel.h"
#include "jail/serve/wire/packet.h"
#include "jail/serve/session/session.h"
#include "jail/base/clock.h"
#include "jail/watch/startup.h"

struct step *step_make(struct session *s, enum step_kind kind, uint32_t number,
		       uint32_t branch, uint32_t from)
{
	struct step *step = calloc(1, sizeof(*step));

	if (!step)
		return NULL;
	step->session = s;
	step->kind = kind;
	step->number = step->asked = number;
	step->source = -1;
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
	if (!memory_allows(step->session, of))
		return memory_wait(step, h, payload, fds, count)
			       ? 0
			       : err_say(e, EDQUOT,
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

static void note_begun(struct step *step)
{
	struct serve *serve = step->session->serve;

	step->waits = false;
	serve->sight.steps++;
	serve->sight.began_ms = clock_now_ms();
	if (!step->state->host) /* until its process is there */
		event_loop_set(&serve->loop, &step->wall,
			       serve->sight.began_ms + STARTUP_MS);
}

int step_begin(struct step *step, struct state *of, const struct wire_header *h,
	       const void *payload, int *fds, size_t count, struct err *e)
{
	int r = step ? make_fds(step, fds, e) : err_set(e, ENOMEM, "serve: a step");

	if (r == 0)
		r = step_ask(step, of, h, payload, fds, count, e);
	if (r == 0 && !step->waits &&
	    step_listen(step, !step->session->serve->paused) < 0)
		r = err_say(e, ENOMEM, "serve: epoll_ctl");
	for (int i = 0; i < STEP_FDS; i++)
		io_close_fd(&fds[i]);
	if (r < 0) {
		if (step)
			step_discard(step);
		return r;
	}
	step->next = step->session->steps;
	step->session->steps = step;
	if (step->waits)
		park_await(step->state);
	else
		note_begun(step);
	return 0;
}

/* of the state itself */
static int run_now(struct session *s, struct branch *b, uint32_t number, int source,
		   const struct step_limits *limits, struct err *e)
{
	int fds[STEP_FDS] = { -1, -1, -1, -1, source };
	struct step *step = step_make(s, KIND_RUN, number, b->name, b->head);
	const struct wire_header h = { 0, WIRE_RUN, number };
	int r = step_begin(step, states_find(&s->states, b->head), &h, NULL, fds,
			   STEP_FDS, e);

	if (r < 0)
		return r;
	b->step = step;
	step->limits = *limits;
	return 0;
}

/* of a process that is ready; false: there is none, and the source stays the caller's */
static bool run_ahead(struct session *s, struct branch *b, int source,
		      const struct step_limits *limits)
{
	const struct wire_header h = { 0, WIRE_RUN, s->next_step };
	struct step *step = prefork_find(s, b->head);

	if (!step)
		return false;
	step->limits = *limits;
	/* its clocks first: it may run as soon as it has the source */
	step->cpu_early_us = limit_process_cpu_us(step->state->host);
	if (step->state->host)
		limit_begin(step);
	if (packet_send(step->state->channel.fd, &h, NULL, &source, 1) < 0) {
		prefork_end(step);
		return false;
	}
	park_end(step->state);
	park_wake(step->state);
	note_begun(step);
	step->number = step->state->number = s->next_step;
	step->branch = b->name;
	step->source = source;
	b->step = step;
	if (step_listen(step, !s->serve->paused) < 0) /* it says nothing, then */
		limit_kill(step, VERDICT_CANCELLED);
	return true;
}

int step_run(struct session *s, struct branch *b, int source,
	     const struct step_limits *limits, struct err *e)
{
	int r = 0;

	if (!run_ahead(s, b, source, limits))
		r = run_now(s, b, s->next_step, source, limits, e);
	if (r == 0)
		s->next_step++;
	return r;
}

bool step_again(struct step *step)
{
	struct session *s = step->session;
	struct branch *b = states_branch(&s->states, step->branch);
	uint32_t number = step->number;
	const struct step_limits limits = step->limits;
	struct refusal why;
	struct err e;
	int source;

	/* what was written to its stdin cannot be had back */
	if (step->source < 0 || step->killed != NOT_KILLED || step->input || !b)
		return false;
	source = io_steal_fd(&step->source);
	prefork_dismiss(step->state);
	step_forget(step);
	if (run_now(s, b, number, source, &limits, &e) < 0) {
		why = refusal_of_step(e.errnum);
		why.frame = s->once.is ? "ONCE" : "RUN";
		why.step = number;
		say_refused(s->serve, s->number, b->name, &why, e.text);
	}
	return true;
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
	const struct step_file ask_for = { ops[kind], mode,
					   s->serve->plan->limit[LIMIT_WORK_BYTES] };
	const struct wire_header h = { (uint32_t)(sizeof(ask_for) + path_bytes),
				       WIRE_FILE, ++s->file_ops };
	struct step *step = step_make(s, kind, s->file_ops, branch, 0);
	int r;

	memcpy(payload, &ask_for, sizeof(ask_for));
	memcpy(payload + sizeof(ask_for), path, path_bytes);
	fds[STEP_FD_DATA] = data;
	r = step_begin(step, states_find(&s->states, 0), &h, payload, fds, STEP_FILE_FDS,
		       e);
	if (r == 0)
		step->limits.wall_ms = s->serve->plan->limit[LIMIT_WALL_MS];
	return r;
}
