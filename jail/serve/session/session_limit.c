/* SPDX-License-Identifier: MIT */
/*
 * session_limit.c - the clocks of a step, and what it uses: see session.h
 *
 * Theory of operation
 *   Each step has one bell for its end by the clock and one for looking at CPU time and
 *   memory; no bell is set while nothing runs. A cause is noted before its signal is
 *   sent. SIGINT comes first, so that Python can end the step by an exception and keep
 *   its variables; after --grace comes SIGKILL.
 *   CPU time is the whole jail's since the step's start where the step is alone in it,
 *   and else that of its own process and of those below it; but once a process is seen
 *   whose parent has ended, which may be any step's, it is the whole jail's for all of
 *   them.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "jail/serve/session/session.h"
#include "jail/serve/session/session_sweep.h"
#include "jail/serve/session/session_park.h"
#include "jail/base/clock.h"
#include "jail/watch/startup.h"

#define FIRST_SAMPLE_MS 10

void limit_signal(const struct state *state, int signal)
{
	spawn_signal(state->session, state->pidfd, signal);
}

void limit_kill(struct step *step, enum verdict cause)
{
	if (step->have_exit) /* by itself, and what it left is being ended */
		return;
	if (step->killed == NOT_KILLED)
		step->killed = cause;
	step->shot = true;
	limit_signal(step->state, SIGKILL);
	/* its parent, maybe: init hears of its end only when that has ended, too */
	sweep_left(step->state);
	if (step->state->host && !step->state->told)
		event_loop_unset(&step->session->serve->hub, &step->wall);
}

void limit_interrupt(struct step *step, enum verdict cause)
{
	struct serve *serve = step->session->serve;

	if (step->interrupted || step->shot || step->sweeping || step->state->told)
		return;
	step->killed = cause;
	step->interrupted = true;
	limit_signal(step->state, SIGINT);
	event_loop_set(&serve->hub, &step->wall,
		       clock_now_ms() + serve->plan->limit[LIMIT_GRACE_MS] / 4);
}

/*
 * Python looks for signals, and then it sleeps: one that comes in between wakes nobody.
 * So a step that has used no CPU time in the second quarter of its grace is sent another.
 */
static void ring_grace(struct step *step)
{
	struct serve *serve = step->session->serve;
	uint64_t used_us = limit_process_cpu_us(step->state->host);
	uint64_t quarter_ms = serve->plan->limit[LIMIT_GRACE_MS] / 4;

	step->quarters++;
	if (step->quarters == 4) {
		limit_kill(step, step->killed);
		return;
	}
	if (step->quarters == 1)
		step->quarter_us = used_us;
	else if (step->quarters == 2 && used_us == step->quarter_us)
		limit_signal(step->state, SIGINT);
	event_loop_set(&serve->hub, &step->wall, clock_now_ms() + quarter_ms);
}

/* while its client reads nothing, or something came of it, a GET or LIST is not late */
static void ring_file(struct step *step)
{
	struct serve *serve = step->session->serve;
	const struct stream *data = &step->out[0];

	if (!serve->paused && data->bytes == step->seen_bytes) {
		limit_kill(step, VERDICT_WALL_TIMEOUT);
		return;
	}
	step->seen_bytes = data->bytes;
	event_loop_set(&serve->hub, &step->wall, clock_now_ms() + step->wall_ms);
}

static void ring_wall(struct bell *b)
{
	struct step *step = b->owner;
	struct session *s = step->session;
	struct state *from = states_find(&s->states, step->from);

	if (step->state->host && !step->state->told) {
		if (step->kind != KIND_RUN)
			ring_file(step);
		else if (step->sweeping) /* it has ended in time, if it does not go on */
			event_loop_set(&s->serve->hub, b,
				       clock_now_ms() + FIRST_SAMPLE_MS);
		else if (step->interrupted)
			ring_grace(step);
		else
			limit_interrupt(step, VERDICT_WALL_TIMEOUT);
		return;
	}
	/* its state was asked, and has said nothing, or what it made has lied: it is of
	 * no more use */
	step_refuse(step, (struct refusal){ .kind = REFUSAL_NO_STATE }, 0,
		    "the state that it was to begin with does not answer");
	if (from && from->number)
		limit_signal(from, SIGKILL);
	else
		session_end(s, "the first interpreter does not answer");
}

uint64_t limit_process_cpu_us(pid_t pid)
{
	clockid_t clock;

	return clock_getcpuclockid(pid, &clock) != 0 ? 0 : clock_us(clock);
}

/* too much, by a count that was asked for then; which of them it is, nobody can tell */
static void kill_for_memory(struct session *s, uint64_t asked_ms)
{
	for (struct step *step = s->steps; step; step = step->next)
		if (step->state->host && step->kind == KIND_RUN &&
		    step->start_ms <= asked_ms)
			limit_kill(step, VERDICT_MEMORY);
}

static void take_memory(struct session *s, void *owner, const struct spawn_answer *a)
{
	(void)owner;
	s->memory_asked = false;
	/* it ends, and others tell so */
	if (a->errnum == ECANCELED || a->errnum == ESRCH)
		return;
	if (a->errnum) {
		session_end(s, "what the jail's processes use cannot be counted: %s",
			    strerror((int)a->errnum));
		return;
	}
	proc_usage_counted(&s->usage, a->bytes, a->cost_us);
	s->memory_bytes = a->bytes;
	if (a->bytes > s->serve->plan->limit[LIMIT_MEMORY_BYTES])
		kill_for_memory(s, s->memory_asked_ms);
}

/* CPU time of all processes of the jail; 0, or -errno where it cannot be read */
static int jail_cpu_us(struct session *s, uint64_t *cpu_us, struct err *e)
{
	struct cgroup_usage u = { .user_us = NO_LIMIT };
	struct proc_usage *w = &s->usage;
	int r;

	if (s->limited) {
		cgroup_cpu(&s->cgroup, &u);
		*cpu_us = u.user_us + u.system_us;
		return u.user_us != NO_LIMIT
			       ? 0
			       : err_say(e, EIO, "the jail's cpu.stat cannot be read");
	}
	r = proc_usage_quick(s->init, s->serve->plan->limit[LIMIT_MEMORY_BYTES], w, e);
	if (r < 0)
		return r;
	*cpu_us = w->cpu_us;
	if (r == 0) {
		s->memory_bytes = w->memory_bytes;
	} else if (!s->memory_asked) {
		s->memory_asked = true;
		s->memory_asked_ms = clock_now_ms();
		measure_ask(s, SPAWN_MEMORY, NULL, take_memory, NULL);
	}
	return 0;
}

/* since the step began; the process may have been there before it */
static uint64_t own_cpu_us(const struct step *step, uint64_t all_us)
{
	return all_us > step->cpu_early_us ? all_us - step->cpu_early_us : 0;
}

/* A process whose parent has ended is init's: it may be any running step's. */
static bool has_orphans(const struct session *s)
{
	/* what was asked for, and has not said yet who it is, would look like one */
	for (const struct step *step = s->steps; step; step = step->next)
		if (!step->state->host)
			return false;
	for (const struct step *step = s->ahead; step; step = step->next)
		if (!step->state->host)
			return false;
	return !sweep_has_none(s, s->init);
}

/* false: what it uses cannot be seen, so no limit holds it, and its session has ended */
static bool sample(struct step *step)
{
	struct session *s = step->session;
	uint64_t own_us = own_cpu_us(step, limit_process_cpu_us(step->state->host)),
		 all_us = 0;
	struct err e;
	int r = jail_cpu_us(s, &all_us, &e);

	if (r == 0 && !step->alone)
		r = proc_usage_quick(step->state->host, NO_LIMIT, &step->watch, &e);
	if (r < 0)
		session_end(s, "%s", e.text);
	if (s->phase != PHASE_OPEN)
		return false;
	if (!step->cpu_before_us && all_us)
		step->cpu_before_us = all_us > own_us ? all_us - own_us : 1;
	if (!step->alone) {
		own_us = own_cpu_us(step, step->watch.cpu_us);
		step->orphans |= has_orphans(s);
	}
	if ((step->alone || step->orphans) && all_us > step->cpu_before_us)
		own_us = all_us - step->cpu_before_us;
	if (own_us > step->cpu_used_us)
		step->cpu_used_us = own_us;
	return true;
}

/* when to look next; no sooner than the rest can be used up on all CPUs at once */
static uint64_t next_sample_ms(const struct step *step)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t used_ms = step->cpu_used_us / 1000, in_ms = NO_LIMIT;

	if (!step->session->limited)
		return PROC_USAGE_PERIOD_MS;
	if (step->cpu_ms != NO_LIMIT && step->cpu_ms > used_ms)
		in_ms = (step->cpu_ms - used_ms) / (uint64_t)(cpus > 0 ? cpus : 1);
	return in_ms < FIRST_SAMPLE_MS ? FIRST_SAMPLE_MS : in_ms;
}

static void ring_sample(struct bell *b)
{
	struct step *step = b->owner;
	struct session *s = step->session;

	if (!sample(step) || step->shot)
		return;
	/* see limit_begin(): it is no short one, and may say more than its channel holds
	 * */
	if (!step->media.held)
		(void)event_loop_listen(&s->serve->hub, &step->state->channel, EPOLLIN);
	if (step->cpu_used_us / 1000 >= step->cpu_ms)
		limit_interrupt(step, VERDICT_CPU_TIMEOUT);

	uint64_t in_ms = next_sample_ms(step);

	if (in_ms != NO_LIMIT)
		event_loop_set(&s->serve->hub, b, clock_now_ms() + in_ms);
	/* nobody waits for long to say more; the step may be forgotten by that */
	step_receive(step->state);
}

void limit_begin(struct step *step)
{
	struct session *s = step->session;
	struct event_loop *hub = &s->serve->hub;

	event_loop_unset(hub, &step->wall);
	step->start_ms = clock_now_ms();
	if (step->state->told) { /* init is about to tell of its end */
		event_loop_set(hub, &step->wall, step->start_ms + STARTUP_MS);
		return;
	}
	sweep_score(step->state, true);
	if (step->wall_ms != NO_LIMIT)
		event_loop_set(hub, &step->wall, step->start_ms + step->wall_ms);
	if (step->kind != KIND_RUN)
		return;
	step->alone = true;
	for (struct step *other = s->steps; other; other = other->next)
		if (other != step && other->state->host)
			step->alone = other->alone = false;
	if (step->shot) { /* before it was there */
		event_loop_unset(hub, &step->wall);
		limit_signal(step->state, SIGKILL);
		return;
	}
	if (!s->limited || step->cpu_ms != NO_LIMIT)
		event_loop_set(hub, &step->sample, step->start_ms + FIRST_SAMPLE_MS);
	/* what it says is taken when it rests: one wake-up for all of it */
	if (step->sample.at_ms && park_is_told(s))
		(void)event_loop_listen(hub, &step->state->channel, 0);
}

void limit_prepare(struct step *step)
{
	step->wall = (struct bell){ .ring = ring_wall, .owner = step };
	step->sample = (struct bell){ .ring = ring_sample, .owner = step };
}

void limit_end(struct step *step)
{
	struct event_loop *hub = &step->session->serve->hub;

	event_loop_unset(hub, &step->wall);
	event_loop_unset(hub, &step->sample);
}

uint64_t limit_cpu_us(const struct step *step)
{
	/* of its own process to the end, where that is still there */
	uint64_t own_us = step->have_exit ? step->exit.user_us + step->exit.system_us
					  : limit_process_cpu_us(step->state->host);
	uint64_t said_us;

	own_us = own_cpu_us(step, own_us);
	said_us = step->have_done ? step->done.cpu_us : 0;

	own_us = own_us > step->cpu_used_us ? own_us : step->cpu_used_us;
	/* with children that it waited for, it knows of more */
	return own_us > said_us ? own_us : said_us;
}
