/* SPDX-License-Identifier: MIT */
/*
 * session_park.c - a state that waits does nothing else
 *
 * Theory of operation
 *   A state's process is its author's: its code and memory may be anything, and that it
 *   says DONE and waits is its word. So it waits in a call that its filter tells serve of
 *   (STEP_REST of init/step_wire.h), and is not answered: the kernel holds the thread.
 *   While it is held, it is looked at. It is its process's only one, so nobody else runs
 *   there; all signals are blocked, so none of them wakes it; it has left no child that
 *   runs. If it is held still after that, it will be for as long as serve likes. SIGSTOP
 *   cannot be blocked: seccomp/signal_guard.c has the calls that send it judged.
 *   A process with more threads is let go of that call, and stops itself. Init, which is
 *   its parent, tells when the kernel has stopped all threads, and when they go on. Who
 *   might have that happen (a timer whose signal is SIGCONT) is not known beforehand: a
 *   state that goes on without having been asked is killed.
 *   A step has ended when its process rests, and not before: one that says DONE and goes
 *   on is a step that goes on, with its clocks. A process that rests is let go once for
 *   each request. For a step its snapshot takes its place, which must rest soon: it has
 *   LATE_CPU_US for that. A bell is set as long as one of them is awake, and none while
 *   all rest.
 *
 *   A stop from outside of the jail, by a debugger or a freezer, ends the call. An honest
 *   process makes it again, and any other is found at the session's next step.
 */
#include <signal.h>
#include <sys/syscall.h>

#include "jail/serve/session/session.h"
#include "jail/watch/startup.h"

#define LATE_MS 500
#define LATE_CPU_US 250000
#define ALL_BLOCKED 0xfffffffffffbfeff /* but SIGKILL and SIGSTOP, which cannot be */

bool park_is_told(const struct session *s)
{
	return s->listener.fd >= 0;
}

bool park_is_call(const struct seccomp_data *call)
{
	return call->nr == SYS_kill && (int32_t)(uint32_t)call->args[0] == STEP_REST &&
	       (uint32_t)call->args[1] == 0;
}

static void ring_late(struct bell *b)
{
	struct state *state = b->owner;
	struct session *s = state->session;
	uint64_t used_us = limit_process_cpu_us(state->host);
	bool late = clock_now_ms() >= state->woken_ms + STARTUP_MS;

	if (late || used_us >= state->woken_us + LATE_CPU_US) {
		limit_signal(state, SIGKILL);
		s->restless++;
	} else {
		event_loop_set(&s->serve->loop, b, clock_now_ms() + LATE_MS);
	}
	/* this also ends processes that were asked for and do not speak */
	sweep_states(s, NULL);
}

void park_end(struct state *state)
{
	event_loop_unset(&state->session->serve->loop, &state->late);
}

void park_await(struct state *state)
{
	if (!park_is_told(state->session))
		return;
	state->woken_ms = clock_now_ms();
	state->woken_us = limit_process_cpu_us(state->host);
	state->late.ring = ring_late;
	state->late.owner = state;
	event_loop_set(&state->session->serve->loop, &state->late,
		       state->woken_ms + LATE_MS);
}

static void let_go(struct state *state, uint64_t id)
{
	state->parked = false;
	if (state->stops) {
		state->stops = false;
		state->continued = true;
		state->owed--;
		limit_signal(state, SIGCONT);
		return;
	}
	/* If the kernel does not hold the call any more, an honest process makes it
	 * again, and any other is found at the session's next step. */
	if (violation_let(state->session->listener.fd, id, -STEP_REST_OVER) > 0)
		state->owed--;
}

void park_wake(struct state *state)
{
	if (!park_is_told(state->session) && !state->stops)
		return;
	state->owed++;
	if (!state->step)
		park_await(state);
	if (state->parked)
		let_go(state, state->park_id);
}

/* Can only serve, or the end of its process, let it go on? */
static bool is_held(const struct state *state)
{
	return state->stops ? state->stopped
			    : !park_is_told(state->session) ||
				      violation_holds(state->session->listener.fd,
						      state->park_id);
}

void park_look(struct session *s)
{
	for (unsigned int i = 0; i < s->states.count; i++) {
		struct state *state = s->states.state[i];

		/* init tells of one that stops */
		if (!state->parked || state->ending || state->stops || is_held(state))
			continue;
		state->parked = false;
		park_await(state);
	}
}

/* Find the state whose process makes the call. The packet that tells its pid may not have
 * been read yet. */
static struct state *caller(struct session *s, pid_t host)
{
	struct state *state = sweep_known(s, host);

	if (state && !state->step)
		return state;
	if (s->phase == PHASE_STARTING && s->states.count)
		step_receive(&s->states.state[0]->channel);
	step_hear_births(s);
	/* DONE may lie in a channel, too; the last packet counts. A channel whose reader
	 * is waited for is not read for the sake of another step. */
	state = sweep_known(s, host);
	for (struct step *step = s->steps, *next; step; step = next) {
		next = step->next;
		if (step->kind == KIND_RUN &&
		    (!step->media.held || !state || state == step->state))
			step_drain(step->state);
	}
	return sweep_known(s, host);
}

/* How many threads has it, if the first one has blocked all signals? Else 0 */
static uint64_t count_bound(const struct state *state)
{
	char text[4096];

	return procfs_read(state->host, "status", text, sizeof(text)) > 0 &&
			       procfs_number(text, "SigBlk:", 16) == ALL_BLOCKED
		       ? procfs_number(text, "Threads:", 10)
		       : 0;
}

static bool all_rest(const struct session *s)
{
	for (unsigned int i = 0; i < s->states.count; i++)
		if (!s->states.state[i]->parked && !s->states.state[i]->ending)
			return false;
	return true;
}

static void park(struct state *state)
{
	/* an answer that serve itself waits for does not count as one of a flood */
	state->session->refused.budget++;
	park_end(state);
	state->parked = true;
}

void park_swept(struct step *step, int strays)
{
	struct state *state = step->state;

	step->sweeping = false;
	step->strays = strays < 0 ? strays : step->strays + strays;
	if (!step->have_exit) {
		/* the step goes on, or its end is told next */
		if (!is_held(state))
			return;
		park(state);
	}
	step->swept = true;
	done_step(step);
}

/* It is held. What the step has left is ended before its process is looked at for the
 * last time. */
static void begin(struct state *state)
{
	struct session *s = state->session;

	if (state->step) {
		sweep_step(state->step);
		return;
	}
	if (!is_held(state))
		return;
	park(state);
	if (state->owed)
		let_go(state, state->park_id);
	else if (!sweep_has_none(s, state->host))
		sweep_states(s, state);
	else if (all_rest(s))
		sweep_states(s, NULL);
}

void park_unheard(struct step *step)
{
	step->state->stops = step->threads > 0;
	if (!step->state->stops)
		done_step(step);
}

void park_told(struct session *s, pid_t pid, bool stopped)
{
	struct state *state = sweep_of_pid(s, pid);

	/* of a process that serve does not know, or does not wait for */
	if (!state || (stopped ? !state->stops : !state->stopped)) {
		done_pause(s);
		return;
	}
	state->stopped = stopped;
	if (stopped && (!state->step || state->step->have_done))
		begin(state);
	if (stopped)
		return;
	if (state->parked && !state->continued) {
		limit_signal(state, SIGKILL);
		s->restless++;
	}
	state->continued = false;
}

bool park_hear(struct session *s, const struct seccomp_notif *n)
{
	struct state *state = caller(s, (pid_t)n->pid);
	struct step *step = state ? state->step : NULL;
	uint64_t threads;

	if (s->phase != PHASE_OPEN)
		return true; /* the session is being ended */
	if (!state || (step && step->kind != KIND_RUN))
		return false;
	threads = count_bound(state);
	state->stops = threads > 1;
	if (state->owed && !state->stops) {
		s->refused.budget++; /* as in park() */
		let_go(state, n->id);
		return true;
	}
	if (step && (!step->have_done || step->shot))
		return false;
	if (step) /* by the kernel's word, not its own */
		step->threads = threads > 0 ? (uint32_t)threads - 1 : 0;
	if (threads == 1) {
		state->park_id = n->id;
		begin(state);
		return true;
	}
	if (state->stops)
		return violation_let(s->listener.fd, n->id, -STEP_REST_STOP) > 0;
	/* A step that has said DONE may go on. A state that waits has no reason to make
	 * this call. */
	if (!step)
		limit_signal(state, SIGKILL);
	return false;
}
