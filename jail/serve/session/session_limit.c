/* SPDX-License-Identifier: MIT */
/*
 * session_limit.c - the clocks of a step, and what it uses: see session.h
 *
 * Theory of operation
 *   Each step has one bell for its end by the clock and one for looking at CPU time and
 *   memory; no bell is set while nothing runs. A cause is noted before its signal is
 *   sent. SIGINT comes first, so that Python can end the step by an exception and keep
 *   its variables; after --grace comes SIGKILL.
 *   A step that is alone in its jail is charged all CPU time of the jail since it began.
 *   Otherwise it is charged that of its own process and of those below it. But once a
 *   process is seen whose parent has ended, and which may be any step's, each step is
 *   charged that of the whole jail.
 */
#include <signal.h>
#include <string.h>

#include "jail/serve/session/session.h"
#include "jail/watch/startup.h"

#define FIRST_SAMPLE_MS 10

void limit_signal(const struct state *state, int signal)
{
	spawn_signal(state->session, state->pidfd, signal);
}

void limit_kill(struct step *step, enum verdict cause)
{
	if (step->have_exit) /* it ended by itself; its strays are being ended */
		return;
	if (step->killed == NOT_KILLED)
		step->killed = cause;
	step->shot = true;
	limit_signal(step->state, SIGKILL);
	if (step->state->host && !step->state->told)
		event_loop_unset(&step->session->serve->loop, &step->wall);
}

static void begin_grace(struct step *step)
{
	struct serve *serve = step->session->serve;

	limit_signal(step->state, SIGINT);
	event_loop_set(&serve->loop, &step->wall,
		       clock_now_ms() + serve->plan->limit[LIMIT_GRACE_MS] / 4);
}

void limit_interrupt(struct step *step, enum verdict cause)
{
	if (step->interrupted || step->shot || step->sweeping || step->have_exit ||
	    step->state->told)
		return;
	step->killed = cause;
	step->interrupted = true;
	/* else limit_begin() does so: it holds signals back until its code begins */
	if (step->state->host)
		begin_grace(step);
}

/* Python looks for signals and then sleeps: a signal that comes in between wakes nobody.
 * So a step that has used no CPU time in the second quarter of its grace is sent another
 * SIGINT. */
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
	event_loop_set(&serve->loop, &step->wall, clock_now_ms() + quarter_ms);
}

/* A GET or LIST is not late while its client reads nothing, or while bytes of it have
 * come. */
static void ring_file(struct step *step)
{
	struct serve *serve = step->session->serve;
	const struct stream *data = &step->out[0];

	if (!serve->paused && data->bytes == step->seen_bytes) {
		limit_kill(step, VERDICT_WALL_TIMEOUT);
		return;
	}
	step->seen_bytes = data->bytes;
	event_loop_set(&serve->loop, &step->wall, clock_now_ms() + step->limits.wall_ms);
}

static void ring_wall(struct bell *b)
{
	struct step *step = b->owner;
	struct session *s = step->session;
	struct state *from = states_find(&s->states, step->from);

	if (step->state->host && !step->state->told) {
		if (step->kind != KIND_RUN)
			ring_file(step);
		else if (step->sweeping) /* DONE came in time, unless the step goes on */
			event_loop_set(&s->serve->loop, b,
				       clock_now_ms() + FIRST_SAMPLE_MS);
		else if (step->interrupted)
			ring_grace(step);
		else
			limit_interrupt(step, VERDICT_WALL_TIMEOUT);
		return;
	}
	/* The state was asked for a process and did not answer, or its child has lied: it
	 * is of no more use. */
	step_refuse(step, (struct refusal){ .kind = REFUSAL_NO_STATE }, 0,
		    "the state that it was to begin with does not answer");
	if (from && from->number)
		limit_signal(from, SIGKILL);
	else
		session_end(s, "the first interpreter does not answer");
	/* a child that never said that it is there */
	sweep_states(s, NULL);
}

uint64_t limit_process_cpu_us(pid_t pid)
{
	/* as clock_getcpuclockid(3) has it, which asks the kernel for each. To that, 0 is
	 * the caller */
	return pid <= 0 ? 0 : clock_us((clockid_t)((~(unsigned int)pid << 3) | 2));
}

/* The jail has more than it may. Nobody can tell which step it is: kill each that ran
 * when the count was asked for. */
static void kill_running(struct session *s, uint64_t asked_ms, enum verdict cause)
{
	for (struct step *step = s->steps; step; step = step->next)
		/* one that has said DONE is about to be a state, with its locks */
		if (step->state->host && step->kind == KIND_RUN &&
		    step->start_ms <= asked_ms &&
		    (cause == VERDICT_MEMORY || !step->have_done))
			limit_kill(step, cause);
}

/* While steps run, and once more behind the last of them: states keep what steps lock */
static void ring_locked(struct bell *b)
{
	struct session *s = b->owner;
	uint64_t now_ms = clock_now_ms(), limit = s->serve->plan->limit[LIMIT_FILE_LOCKS];
	int r = procfs_locks_exceed(s->locks, limit);

	if (r < 0)
		session_end(s, "its file locks cannot be counted: %s", strerror(-r));
	else if (r > 0 && !s->steps)
		session_end(s,
			    "its states hold more file locks than --file-locks %" PRIu64,
			    limit);
	if (r > 0)
		kill_running(s, now_ms, VERDICT_FILE_LOCKS);
	if (s->steps)
		event_loop_set(&s->serve->loop, b, now_ms + PROC_USAGE_PERIOD_MS);
}

/* Return: false where the answer has no count */
static bool has_count(struct session *s, const struct spawn_answer *a)
{
	/* the session or the process ends, which is told elsewhere */
	if (a->errnum == 0 || a->errnum == ECANCELED || a->errnum == ESRCH)
		return a->errnum == 0;
	session_end(s, "what the jail's processes use cannot be counted: %s",
		    strerror((int)a->errnum));
	return false;
}

/* of a step's processes alone */
static void take_own_memory(struct session *s, void *owner, const struct spawn_answer *a)
{
	uint64_t most = s->serve->plan->limit[LIMIT_MEMORY_BYTES];
	struct step *step = s->steps;

	while (step && step->number != (uint32_t)(uintptr_t)owner)
		step = step->next;
	/* RLIMIT_DATA, which says no to a process, leaves out stack and page tables */
	if (step && has_count(s, a) && a->bytes > most + most / 64)
		limit_kill(step, VERDICT_MEMORY);
}

/* States that nobody is at go before a step does. What the others hold, to which steps
 * come back, is not the steps' own, up to as much again. */
static void take_memory(struct session *s, void *owner, const struct spawn_answer *a)
{
	uint64_t most = s->serve->plan->limit[LIMIT_MEMORY_BYTES];

	(void)owner;
	s->memory_asked = false;
	if (!has_count(s, a))
		return;
	proc_usage_counted(&s->usage, a->bytes, a->cost_us);
	if (a->bytes <= most || done_drop(s))
		return;
	if (a->bytes / 2 > most)
		kill_running(s, s->memory_asked_ms, VERDICT_MEMORY);
	else
		for (struct step *step = s->steps; step; step = step->next)
			if (step->state->host && step->kind == KIND_RUN)
				measure_ask(s, SPAWN_MEMORY, step->state, take_own_memory,
					    (void *)(uintptr_t)step->number);
}

/* Read the CPU time of all processes of the jail. Return: 0, or -errno. */
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
	if (r > 0 && !s->memory_asked) {
		s->memory_asked = true;
		s->memory_asked_ms = clock_now_ms();
		measure_ask(s, SPAWN_MEMORY, NULL, take_memory, NULL);
	}
	return 0;
}

/* A process whose parent has ended is a child of init's: it may belong to any running
 * step. */
static bool has_orphans(const struct session *s)
{
	/* a process that was asked for and has not told its pid yet would look like an
	 * orphan */
	for (const struct step *step = s->steps; step; step = step->next)
		if (!step->state->host)
			return false;
	return !sweep_has_none(s, s->init);
}

static uint64_t since(uint64_t now_us, uint64_t before_us)
{
	return now_us > before_us ? now_us - before_us : 0;
}

/* CPU time that the step's own process has used for it */
static uint64_t process_cpu_us(const struct step *step)
{
	return since(limit_process_cpu_us(step->state->host), step->own_before_us);
}

/* Read what a step uses. Return: false where that cannot be read; then no limit would
 * hold it, and its session has been ended. */
static bool sample(struct step *step)
{
	struct session *s = step->session;
	uint64_t own_us = process_cpu_us(step), all_us = 0;
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
		own_us = since(step->watch.cpu_us,
			       step->own_before_us + step->state->waited_us);
		step->orphans |= has_orphans(s);
	}
	if ((step->alone || step->orphans) && all_us > step->cpu_before_us)
		own_us = all_us - step->cpu_before_us;
	if (own_us > step->cpu_used_us)
		step->cpu_used_us = own_us;
	return true;
}

/* When is the next sample due? Not before all CPUs together could have used up what is
 * left. */
static uint64_t next_sample_ms(const struct step *step)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t used_ms = step->cpu_used_us / 1000, in_ms = NO_LIMIT;

	if (!step->session->limited)
		return PROC_USAGE_PERIOD_MS;
	if (step->limits.cpu_ms != NO_LIMIT && step->limits.cpu_ms > used_ms)
		in_ms = (step->limits.cpu_ms - used_ms) / (uint64_t)(cpus > 0 ? cpus : 1);
	return in_ms < FIRST_SAMPLE_MS ? FIRST_SAMPLE_MS : in_ms;
}

static void ring_sample(struct bell *b)
{
	struct step *step = b->owner;
	struct session *s = step->session;

	if (!sample(step) || step->shot)
		return;
	if (step->cpu_used_us / 1000 >= step->limits.cpu_ms)
		limit_interrupt(step, VERDICT_CPU_TIMEOUT);

	uint64_t in_ms = next_sample_ms(step);

	if (in_ms != NO_LIMIT)
		event_loop_set(&s->serve->loop, b, clock_now_ms() + in_ms);
}

void limit_begin(struct step *step)
{
	struct session *s = step->session;
	struct event_loop *loop = &s->serve->loop;

	event_loop_unset(loop, &step->wall);
	step->start_ms = clock_now_ms();
	step->own_before_us = limit_process_cpu_us(step->state->host);
	if (step->state->told) { /* the process has ended, and init is about to tell so */
		event_loop_set(loop, &step->wall, step->start_ms + STARTUP_MS);
		return;
	}
	spawn_score(step->state, true);
	if (step->limits.wall_ms != NO_LIMIT)
		event_loop_set(loop, &step->wall, step->start_ms + step->limits.wall_ms);
	if (step->kind != KIND_RUN)
		return;
	if (s->locks >= 0 && !s->locked.at_ms) {
		s->locked = (struct bell){ .ring = ring_locked, .owner = s };
		event_loop_set(loop, &s->locked, step->start_ms + PROC_USAGE_PERIOD_MS);
	}
	step->alone = true;
	for (struct step *other = s->steps; other; other = other->next)
		if (other != step && other->state->host)
			step->alone = other->alone = false;
	if (step->shot) { /* KILL came before the process was there */
		event_loop_unset(loop, &step->wall);
		limit_signal(step->state, SIGKILL);
		return;
	}
	if (step->interrupted) /* and INTERRUPT */
		begin_grace(step);
	if (!s->limited || step->limits.cpu_ms != NO_LIMIT)
		event_loop_set(loop, &step->sample, step->start_ms + FIRST_SAMPLE_MS);
}

void limit_prepare(struct step *step)
{
	step->wall = (struct bell){ .ring = ring_wall, .owner = step };
	step->sample = (struct bell){ .ring = ring_sample, .owner = step };
}

void limit_end(struct step *step)
{
	struct event_loop *loop = &step->session->serve->loop;

	event_loop_unset(loop, &step->wall);
	event_loop_unset(loop, &step->sample);
}

uint64_t limit_waited_us(const struct step *step)
{
	return since(step->done.cpu_us, process_cpu_us(step));
}

uint64_t limit_cpu_us(const struct step *step)
{
	/* CPU time of the step's own process, up to its end where init has told it, which
	 * then includes all children that it ever waited for */
	uint64_t own_us = step->have_exit
				  ? since(step->exit.user_us + step->exit.system_us,
					  step->own_before_us + step->state->waited_us)
				  : process_cpu_us(step);
	uint64_t said_us = step->have_done ? step->done.cpu_us : 0;

	own_us = own_us > step->cpu_used_us ? own_us : step->cpu_used_us;
	/* the step's own count includes children that it waited for */
	return own_us > said_us ? own_us : said_us;
}
