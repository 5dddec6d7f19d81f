/* SPDX-License-Identifier: MIT */
/*
 * run_loop.c - wait for a jail's end: see run_loop.h
 *
 * Theory of operation
 *   One loop waits for the control socket and the launcher's own signals, with a timeout
 *   that is the nearest deadline. A deadline or a signal first notes its cause and then
 *   kills; frames that came before are read before. When init tells the program's end,
 *   what is left over is counted and everything is killed: the end of a run is the end of
 *   its process, not end of file on a pipe that a stray child may hold.
 *   Not base/event_loop.h: that serves fds in the order in which the kernel lists them.
 *   Here the order of the table decides. What init tells of the program's end counts
 *   before a signal, a refused call and a deadline of the same moment.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "init/io.h"
#include "jail/watch/run_loop.h"
#include "jail/base/clock.h"
#include "jail/watch/startup.h"

#define CPU_POLL_MIN_MS 10
#define SAMPLE_MAX_MS 10000 /* a jail whose memory nobody sees for so long is ended */
#define LAST_SAMPLE_MS 1000

/* in the keeper: what its rights allow it to see, in numbers */
void run_loop_look(void *owner, pid_t init, struct keeper_sample *s)
{
	static struct proc_usage usage;
	const struct plan *p = owner;
	struct err e;

	s->errnum = -proc_usage_sample(init, p->limit[LIMIT_MEMORY_BYTES], &usage, &e);
	s->memory_bytes = usage.memory_bytes;
	s->cpu_us = usage.cpu_us;
	s->processes = usage.processes;
}

static void note_sample(struct run *run, const struct keeper_sample *s)
{
	struct proc_usage *peak = &run->outcome.peak, *w = &run->watch;

	w->memory_bytes = s->memory_bytes;
	w->cpu_us = s->cpu_us;
	w->processes = s->processes;
	if (w->memory_bytes > peak->memory_bytes)
		peak->memory_bytes = w->memory_bytes;
	if (w->cpu_us > peak->cpu_us)
		peak->cpu_us = w->cpu_us;
	if (w->processes > peak->processes)
		peak->processes = w->processes;
}

static void ask_sample(struct run *run)
{
	if (!run->asked_ms && keeper_ask_sample(run->jail.keeper, run->jail.kept) == 0)
		run->asked_ms = clock_now_ms();
}

/* the last one: whatever comes of it, the jail ends */
static bool sample_now(struct run *run)
{
	struct keeper_sample s;

	/* an answer that is under way is of a moment before */
	if (run->asked_ms &&
	    keeper_take_sample(run->jail.keeper, LAST_SAMPLE_MS, &s) != 1)
		return false;
	run->asked_ms = 0;
	ask_sample(run);
	if (keeper_take_sample(run->jail.keeper, LAST_SAMPLE_MS, &s) != 1 || s.errnum)
		return false;
	run->asked_ms = 0;
	note_sample(run, &s);
	return true;
}

static void kill_for(struct run *run, enum verdict cause)
{
	/* what a killed process has used, nobody tells afterwards */
	if (!run->jail.limited && run->outcome.started)
		(void)sample_now(run);
	run->outcome.killed = cause;
	run->ended = true;
	launch_kill(&run->jail);
}

static void refuse(struct run *run, int errnum, const char *what)
{
	struct err e;

	(void)err_set(&e, errnum, "the program was started, and killed: %s", what);
	startup_refuse(run, &e);
}

/* an answer to ask_sample(), or the keeper's end */
static void serve_keeper(struct run *run)
{
	const struct plan *p = run->jail.plan;
	struct keeper_sample s;
	int r = keeper_take_sample(run->jail.keeper, 0, &s);

	if (r == 0)
		return;
	if (r < 0) {
		run->keeper = -1;
		refuse(run, EOWNERDEAD,
		       "the keeper, which would remove what is left, has ended");
		return;
	}
	run->asked_ms = 0;
	/* an init that is ending may be closed to a look: then the control socket has its
	 * words before the next one */
	if (s.errnum && run->blind)
		refuse(run, s.errnum, "watch: look at what the jail's processes use");
	run->blind = s.errnum != 0;
	if (run->blind)
		return;
	note_sample(run, &s);
	if (s.memory_bytes > p->limit[LIMIT_MEMORY_BYTES])
		kill_for(run, VERDICT_MEMORY);
	else if (s.cpu_us / 1000 >= p->limit[LIMIT_CPU_MS])
		kill_for(run, VERDICT_CPU_TIMEOUT);
}

/* the keeper looks, since it takes rights; meanwhile this loop goes on */
static void sample_without_cgroup(struct run *run)
{
	run->sample_in_ms = PROC_USAGE_PERIOD_MS;
	if (run->asked_ms && clock_now_ms() - run->asked_ms > SAMPLE_MAX_MS)
		refuse(run, ETIMEDOUT, "watch: look at what the jail's processes use");
	else
		ask_sample(run);
}

/* look at CPU time again no sooner than it can be used up on all CPUs at once */
static void sample_cgroup(struct run *run)
{
	uint64_t limit_ms = run->jail.plan->limit[LIMIT_CPU_MS];
	struct cgroup_usage u = run->outcome.before;
	uint64_t used_ms;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	cgroup_cpu(&run->jail.cgroup, &u);
	used_ms = (u.user_us + u.system_us - run->outcome.before.user_us -
		   run->outcome.before.system_us) /
		  1000;
	if (used_ms >= limit_ms) {
		kill_for(run, VERDICT_CPU_TIMEOUT);
		return;
	}
	run->sample_in_ms = (limit_ms - used_ms) / (uint64_t)(cpus > 0 ? cpus : 1);
	if (run->sample_in_ms < CPU_POLL_MIN_MS)
		run->sample_in_ms = CPU_POLL_MIN_MS;
}

static bool is_sampled(const struct run *run)
{
	return run->outcome.started &&
	       (!run->jail.limited || run->jail.plan->limit[LIMIT_CPU_MS] != NO_LIMIT);
}

static uint64_t wall_limit(const struct run *run)
{
	return run->outcome.started ? run->jail.plan->limit[LIMIT_WALL_MS] : STARTUP_MS;
}

/* milliseconds to the nearest deadline, -1 for none; one more, never one less */
static int next_timeout(const struct run *run)
{
	uint64_t now = clock_now_ms(), left = NO_LIMIT;
	uint64_t wall = wall_limit(run);

	if (wall != NO_LIMIT)
		left = run->start_ms + wall > now ? run->start_ms + wall - now : 0;
	if (is_sampled(run)) {
		uint64_t at = run->sampled_ms + run->sample_in_ms;
		uint64_t due = at > now ? at - now : 0;

		left = due < left ? due : left;
	}
	if (run->flooded_ms && run->flooded_ms < left)
		left = run->flooded_ms;
	if (left == NO_LIMIT)
		return -1;
	return left > 3600000 ? 3600000 : (int)left;
}

static void check_deadlines(struct run *run)
{
	uint64_t now = clock_now_ms(), wall = wall_limit(run);

	if (wall != NO_LIMIT && now - run->start_ms >= wall) {
		if (run->outcome.started)
			kill_for(run, VERDICT_WALL_TIMEOUT);
		else
			startup_late(run);
		return;
	}
	if (!is_sampled(run) || now - run->sampled_ms < run->sample_in_ms)
		return;
	run->sampled_ms = now;
	if (!run->jail.limited)
		sample_without_cgroup(run);
	else
		sample_cgroup(run);
}

/* Return: 0, or negative when the frame is none that may come now */
static int serve_frame(struct run *run)
{
	struct wire_header h;
	const unsigned char *payload = wire_reader_take(&run->reader, &h);
	struct outcome *o = &run->outcome;

	if (startup_frame(run, &h, payload))
		return 0;
	if (h.type == WIRE_EXIT && h.length == sizeof(o->exit) && o->started) {
		memcpy(&o->exit, payload, sizeof(o->exit));
		o->have_exit = true;
		run->ended = true;
		return 0;
	}
	return -EBADMSG;
}

static void serve_control(struct run *run)
{
	int r = wire_reader_fill(&run->reader, run->jail.control);

	if (r > 0)
		r = serve_frame(run);
	/* end of the stream or nonsense: nothing that init says is believed any more */
	if (r < 0 && r != -EINTR)
		run->ended = true;
}

static void serve_signal(struct run *run)
{
	struct signalfd_siginfo info;

	if (read(run->signals, &info, sizeof(info)) != sizeof(info))
		return;
	run->outcome.cancel_signal = (int)info.ssi_signo;
	kill_for(run, VERDICT_CANCELLED);
}

static void serve_listener(struct run *run)
{
	struct violations *v = &run->outcome.refused;
	int r = violation_serve(v, run->jail.plan, clock_now_ms() - run->start_ms);

	if (r < 0)
		refuse(run, -r, "violations: answer a refused call");
	else if (r > 0)
		kill_for(run, VERDICT_VIOLATION);
}

static void serve_gate(struct run *run)
{
	(void)startup_gate(run);
}

static void serve_stdout(struct run *run)
{
	(void)capture_read(&run->outcome.capture.stream[0]);
}

static void serve_stderr(struct run *run)
{
	(void)capture_read(&run->outcome.capture.stream[1]);
}

/* what the loop waits for; a source whose fd is -1 is not there */
static const struct {
	size_t fd; /* its place in struct run */
	void (*serve)(struct run *run);
} sources[] = {
	{ offsetof(struct run, jail.control), serve_control },
	{ offsetof(struct run, keeper), serve_keeper },
	{ offsetof(struct run, jail.gate), serve_gate },
	{ offsetof(struct run, signals), serve_signal },
	{ offsetof(struct run, outcome.refused.fd), serve_listener },
	{ offsetof(struct run, outcome.capture.stream[0].outside), serve_stdout },
	{ offsetof(struct run, outcome.capture.stream[1].outside), serve_stderr },
};
#define SOURCE_COUNT (COUNT(sources))

int run_loop_run(struct run *run, struct err *e)
{
	struct pollfd fds[SOURCE_COUNT];

	run->start_ms = clock_now_ms();
	run->sample_in_ms = CPU_POLL_MIN_MS;
	while (!run->ended) {
		run->flooded_ms = violation_wait_ms(&run->outcome.refused,
						    clock_now_ms() - run->start_ms);
		for (size_t i = 0; i < SOURCE_COUNT; i++) {
			fds[i] = (struct pollfd){ .events = POLLIN };
			memcpy(&fds[i].fd, (char *)run + sources[i].fd, sizeof(int));
			/* whoever floods the listener waits for its answers */
			if (run->flooded_ms && sources[i].serve == serve_listener)
				fds[i].fd = -1;
		}
		if (poll(fds, SOURCE_COUNT, next_timeout(run)) < 0) {
			if (errno == EINTR)
				continue;
			return err_set(e, errno, "run: poll");
		}
		for (size_t i = 0; i < SOURCE_COUNT && !run->ended; i++)
			if (fds[i].revents)
				sources[i].serve(run);
		if (!run->ended)
			check_deadlines(run);
	}
	return 0;
}

/* what can only be known before the jail is gone */
void run_loop_gather(struct run *run)
{
	struct outcome *o = &run->outcome;

	if (o->started)
		o->wall_ms = clock_now_ms() - run->start_ms;
	o->full = tmpfs_usage_full(&run->room);
	tmpfs_usage_close(&run->room);
	if (!o->have_exit || !o->exit.strays)
		return;
	/* init told of at least one, also where they cannot be counted */
	o->strays = 1;
	if (run->jail.limited) {
		int left = cgroup_count(&run->jail.cgroup);

		/* init itself is still there, to be counted too */
		o->strays = left > 2 ? (unsigned int)left - 1 : 1;
	} else if (sample_now(run) && run->watch.processes > 1) {
		o->strays = run->watch.processes;
	}
}
