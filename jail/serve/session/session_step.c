/* SPDX-License-Identifier: MIT */
/*
 * session_step.c - what a step, or a file operation, says, up to its last packet
 *
 * Theory of operation
 *   Its process speaks on a channel of its own. What comes there is the step's word: it
 *   is believed where it speaks of itself alone (how it ended, its texts), within bounds,
 *   and never about who it is: that is the kernel's word (sweep_adopt()). A step that
 *   closes its channel is one that will end without DONE, or by its clock.
 *   Its process may end at any time; what it said before is then still in the channel,
 *   and is taken first.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "init/init.h"
#include "jail/serve/wire/packet.h"
#include "jail/serve/session/session.h"

#define PACKETS_A_TURN 16 /* packets of one channel: others are to be served, too */
#define PACKETS_HELD 1024 /* more than a socket's buffer has room for */

void state_hang_up(struct state *state)
{
	(void)event_loop_listen(&state->session->serve->loop, &state->channel, 0);
	packet_close(&state->channel.fd);
}

void state_free(struct state *state)
{
	park_end(state);
	state_hang_up(state);
	io_close_fd(&state->pidfd);
	event_loop_later(&state->session->serve->loop, &state->end, free, state);
}

struct state *state_new(struct session *s, uint32_t number, int channel)
{
	struct state *state = calloc(1, sizeof(*state));

	if (!state)
		return NULL;
	state->session = s;
	state->number = number;
	state->pidfd = -1;
	state->channel = PORT(channel, step_receive, state);
	return state;
}

static void unlist(const struct step *step)
{
	struct step **at = &step->session->steps;

	while (*at && *at != step)
		at = &(*at)->next;
	if (!*at) /* it has not begun */
		return;
	*at = step->next;
	step->session->serve->steps--;
}

void step_forget(struct step *step)
{
	struct session *s = step->session;
	struct event_loop *loop = &s->serve->loop;
	struct branch *b = states_branch(&s->states, step->branch);

	unlist(step);
	if (b && b->step == step)
		b->step = NULL;
	if (s->sweep.step == step)
		s->sweep.step = NULL;
	limit_end(step);
	memory_forget(step);
	for (int i = 0; i < CAPTURE_STREAMS; i++)
		event_loop_close(loop, &step->out[i].port);
	event_loop_close(loop, &step->in);
	free(step->input);
	step->input = NULL;
	event_loop_later(loop, &step->end, free, step);
}

void step_discard(struct step *step)
{
	if (step->state)
		state_free(step->state);
	step_forget(step);
}

void step_refuse(struct step *step, struct refusal why, int errnum, const char *text)
{
	static const char *const names[] = { "step", "PUT", "GET", "LIST" };
	struct session *s = step->session;
	char words[ERR_TEXT_MAX], number[16] = "";

	/* the frame that this answers */
	why.frame = step->kind == KIND_PUT ? "END" : names[step->kind];
	if (step->kind == KIND_RUN) {
		why.frame = s->once.is ? "ONCE" : "RUN";
		why.step = step->number;
		(void)snprintf(number, sizeof(number), " %u", step->number);
	}
	(void)snprintf(words, sizeof(words), "%s%s: %s%s%s", names[step->kind], number,
		       text, errnum ? ": " : "", errnum ? strerror(errnum) : "");
	say_refused(s->serve, s->number, step->branch, &why, words);
	step_discard(step);
}

/* No process was made for the step. */
static void not_begun(struct step *step, int errnum, const char *text)
{
	struct refusal why = { .kind = REFUSAL_FAILED };

	/* of fork(2) in the jail */
	if (errnum == EAGAIN || errnum == ENOMEM)
		why = (struct refusal){ .kind = REFUSAL_LIMIT,
					.limit = errnum == EAGAIN ? "pids" : "memory" };
	step_refuse(step, why, errnum, text);
}

/* The process of a file operation is there. */
static void take_born(struct step *step, const struct wire_header *h,
		      const unsigned char *payload, pid_t who)
{
	struct step_born born;
	struct err e;

	if (h->length != sizeof(born) || step->kind == KIND_RUN || step->state->host)
		return;
	memcpy(&born, payload, sizeof(born));
	if (sweep_adopt(step->state, born.pid, who, &e) < 0)
		/* there is no process to kill: as if none had come */
		not_begun(step, 0, e.text);
	else
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
		step->threads = step->have_done ? step->done.strays : 0;
	} else if (step->kind != KIND_RUN && h->length == sizeof(step->filed)) {
		memcpy(&step->filed, payload, sizeof(step->filed));
		step->filed.errnum = (uint32_t)err_told(step->filed.errnum);
		step->have_done = true;
	}
	/* what follows is the end of a file operation's process, or that a step's process
	 * parks */
	if (step->have_done && step->kind == KIND_RUN && !park_is_told(step->session))
		park_unheard(step);
}

/* An honest interpreter sends at most one RESULT and one TRACE. */
static void take_text(struct step *step, const struct wire_header *h,
		      const unsigned char *payload)
{
	bool *have = h->type == WIRE_RESULT ? &step->have_result : &step->have_trace;

	if (*have || step->kind != KIND_RUN)
		return;
	*have = true;
	step_empty(step);
	serve_put(step->session->serve, h->type, step->session->number, step->branch,
		  payload, h->length);
}

static void take_of_step(struct step *step, const struct wire_header *h,
			 const unsigned char *payload, pid_t who)
{
	if (h->step != step->number)
		return;
	if (h->type == WIRE_STARTED)
		take_born(step, h, payload, who);
	else if (who != step->state->host || who == 0)
		return; /* a child of the step's process does not speak for the step */
	else if (h->type == WIRE_RESULT || h->type == WIRE_TRACE)
		take_text(step, h, payload);
	else if (h->type == WIRE_MEDIA || h->type == WIRE_PIECE)
		media_take(step, h, payload);
	else if (h->type == WIRE_DONE)
		take_done(step, h, payload);
}

/* The first interpreter of a session says that it waits. */
static void take_first(struct session *s, const struct wire_header *h, pid_t who)
{
	struct err e;

	if (h->type != WIRE_STARTED || h->step != 0 || who != s->program)
		return;
	if (sweep_adopt(s->states.state[0], INIT_PROGRAM_PID, who, &e) < 0) {
		session_end(s, "%s", e.text);
		return;
	}
	s->phase = PHASE_OPEN;
	s->next_step = 1;
	s->file_ops = 1u << 31; /* numbers that no step has */
	/* what starting the interpreter used is charged to no step */
	if (s->limited)
		cgroup_usage(&s->cgroup, NULL, &s->counted);
	event_loop_unset(&s->serve->loop, &s->startup);
	(void)states_fork(&s->states, 0, 0);
	s->opened = true;
	say_opened(s);
	step_once(s);
}

/* A step that was asked of this state, and whose process is not known yet */
static struct step *find_asked(const struct state *state, uint32_t number)
{
	struct step *step = state->session->steps;

	while (step && (step->number != number || step->from != state->number ||
			step->state->host != 0))
		step = step->next;
	return step;
}

/*
 * A snapshot says that it is there: it is the state from now on, and what was the state's
 * process runs the step. If it has ended already, or is not what it says, there is no
 * such state any more.
 */
static void take_snapshot(struct state *state, struct step *step,
			  const unsigned char *payload, pid_t who)
{
	struct state *runs = step->state;
	struct step_born born;
	struct err e;

	memcpy(&born, payload, sizeof(born));
	runs->pid = state->pid;
	runs->host = state->host;
	runs->pidfd = state->pidfd;
	runs->scored = state->scored;
	runs->waited_us = state->waited_us;
	runs->strays = state->strays;
	runs->stopped = state->stopped; /* that it goes on may be told later */
	runs->continued = state->continued;
	state->pid = state->host = state->told = 0;
	state->waited_us = state->strays = 0;
	state->pidfd = -1;
	state->scored = state->parked = false;
	state->stops = state->stopped = state->continued = false;
	if (sweep_adopt(state, born.pid, who, &e) < 0 || state->told)
		done_lost(state, "its snapshot has ended");
	else
		park_await(state);
	if (step->session->phase == PHASE_OPEN)
		limit_begin(step);
}

/* A packet of a state that waits: of a snapshot, or that it could not fork. */
static void take_of_state(struct state *state, const struct wire_header *h,
			  const unsigned char *payload, pid_t who)
{
	struct step *step = find_asked(state, h->step);
	struct wire_fail fail;

	if (!step)
		return;
	if (h->type == WIRE_STARTED && h->length == sizeof(struct step_born) &&
	    step->kind == KIND_RUN) {
		take_snapshot(state, step, payload, who);
	} else if (h->type == WIRE_FAIL && h->length == sizeof(fail) &&
		   who == state->host) {
		memcpy(&fail, payload, sizeof(fail));
		not_begun(step, err_told(fail.errnum), "no process could be made for it");
	}
}

static bool receive_one(struct state *state, unsigned char *payload);

/* Has a step begun, for which there is something on its own channel? Its state's channel
 * says so, and may not have been read yet. */
static void hear_birth(const struct step *step)
{
	static unsigned char apart[STEP_TEXT_MAX];
	struct state *from = states_find(&step->session->states, step->from);

	while (step->kind == KIND_RUN && from && find_asked(from, step->number) == step &&
	       receive_one(from, apart))
		;
}

/* Return: false when there is no packet left */
static bool receive_one(struct state *state, unsigned char *payload)
{
	struct session *s = state->session;
	struct step *step = state->step;
	struct wire_header h;
	pid_t who = 0;
	int r = packet_receive(state->channel.fd, &h, payload, &who);

	if (r == -EAGAIN || r == -EINTR)
		return false;
	if (r == -EBADMSG)
		return true;
	if (step && !state->host)
		hear_birth(step);
	if (state->channel.fd < 0) /* it was refused meanwhile */
		return false;
	if (r <= 0) {
		/* init tells how the process ended; until then it may live */
		(void)event_loop_listen(&s->serve->loop, &state->channel, 0);
		if (step && state->host == 0) {
			not_begun(step, 0, "it ended before it began");
		} else if (step && r == -EPROTO) {
			/* with fds, of which an honest interpreter sends none; what comes
			 * behind cannot be received: see packet.c */
			step->sent_fds = true;
			limit_kill(step, VERDICT_VIOLATION);
		} else if (!step) { /* reaches nobody before state 0 is known */
			limit_signal(state, SIGKILL);
		}
		return false;
	}
	if (s->phase == PHASE_STARTING)
		take_first(s, &h, who);
	else if (step)
		take_of_step(step, &h, payload, who);
	else
		take_of_state(state, &h, payload, who);
	return true;
}

static unsigned char payload[STEP_TEXT_MAX];

void step_receive(struct port *channel)
{
	struct state *state = channel->owner;

	for (int i = 0; i < PACKETS_A_TURN && channel->fd >= 0; i++)
		if ((state->step && state->step->media.held) ||
		    !receive_one(state, payload))
			return;
}

void step_drain(struct state *state)
{
	for (int i = 0; i < PACKETS_HELD && state->channel.fd >= 0; i++)
		if (!receive_one(state, payload))
			return;
}

void step_hear_births(struct session *s)
{
	for (struct step *step = s->steps, *next; step; step = next) {
		/* a RUN's snapshot speaks on the channel of its state */
		struct state *speaks = step->kind == KIND_RUN
					       ? states_find(&s->states, step->from)
					       : step->state;

		next = step->next;
		if (step->state->host == 0 && speaks)
			step_receive(&speaks->channel);
	}
}
