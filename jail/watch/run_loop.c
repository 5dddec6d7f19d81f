/* SPDX-License-Identifier: MIT */
/*
 * run_loop.c - open a jail's gate, and wait for its end: see run_loop.h
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
#include <string.h>
#include <sys/signalfd.h>

#include "init/io.h"
#include "jail/base/clock.h"
#include "jail/watch/proc_usage.h"
#include "jail/walls/seccomp/denied_without.h"
#include "jail/watch/run_loop.h"

#define CPU_POLL_MIN_MS 10
#define SAMPLE_MAX_MS 10000 /* a jail whose memory nobody sees for so long is ended */
#define LAST_SAMPLE_MS 1000
#define WAIT_MAX_MS 3600000

static void ask_sample(struct run *run)
{
	if (!run->asked_ms &&
	    keeper_ask_sample(run->up.jail.keeper, run->up.jail.kept) == 0)
		run->asked_ms = clock_now_ms();
}

/* the last one: whatever comes of it, the jail ends */
static bool sample_now(struct run *run, struct keeper_sample *s)
{
	/* an answer that is under way is of a moment before */
	if (run->asked_ms &&
	    keeper_take_sample(run->up.jail.keeper, LAST_SAMPLE_MS, s) != 1)
		return false;
	run->asked_ms = 0;
	ask_sample(run);
	if (keeper_take_sample(run->up.jail.keeper, LAST_SAMPLE_MS, s) != 1 || s->errnum)
		return false;
	run->asked_ms = 0;
	outcome_note_sample(&run->outcome, s);
	return true;
}

static void kill_for(struct run *run, enum verdict cause)
{
	struct keeper_sample last;

	/* what a killed process has used, nobody tells afterwards */
	if (!run->up.jail.limited)
		(void)sample_now(run, &last);
	run->outcome.killed = cause;
	run->ended = true;
	launch_kill(&run->up.jail);
}

/* the watcher's own reason for not going on */
static void refuse(struct run *run, int errnum, const char *what)
{
	(void)err_set(&run->lost, errnum, "%s", what);
	run->ended = true;
}

/* an answer to ask_sample(), or the keeper's end */
static void serve_keeper(struct run *run)
{
	const struct plan *p = run->up.jail.plan;
	struct keeper_sample s;
	int r = keeper_take_sample(run->up.jail.keeper, 0, &s);

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
	outcome_note_sample(&run->outcome, &s);
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
	uint64_t limit_ms = run->up.jail.plan->limit[LIMIT_CPU_MS];
	struct cgroup_usage u = run->outcome.before;
	uint64_t used_ms;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	cgroup_cpu(&run->up.jail.cgroup, &u);
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
	if (run->up.gate.fd[GATE_LOCKS] >= 0 && run->sample_in_ms > PROC_USAGE_PERIOD_MS)
		run->sample_in_ms = PROC_USAGE_PERIOD_MS;
}

static bool is_sampled(const struct run *run)
{
	return !run->up.jail.limited || run->up.gate.fd[GATE_LOCKS] >= 0 ||
	       run->up.jail.plan->limit[LIMIT_CPU_MS] != NO_LIMIT;
}

/* milliseconds to the nearest deadline, -1 for none; one more, never one less */
static int next_timeout(const struct run *run)
{
	uint64_t now = clock_now_ms(), left = NO_LIMIT;
	uint64_t wall = run->up.jail.plan->limit[LIMIT_WALL_MS];

	if (!run->outcome.started)
		return -1;
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
	return left > WAIT_MAX_MS ? WAIT_MAX_MS : (int)left;
}

static void check_deadlines(struct run *run)
{
	const uint64_t *limit = run->up.jail.plan->limit;
	uint64_t now = clock_now_ms(), wall = limit[LIMIT_WALL_MS];
	int r;

	if (wall != NO_LIMIT && now - run->start_ms >= wall) {
		kill_for(run, VERDICT_WALL_TIMEOUT);
		return;
	}
	if (!is_sampled(run) || now - run->sampled_ms < run->sample_in_ms)
		return;
	run->sampled_ms = now;
	r = procfs_locks_exceed(run->up.gate.fd[GATE_LOCKS], limit[LIMIT_FILE_LOCKS]);
	if (r < 0)
		refuse(run, -r, "watch: read the list of file locks");
	else if (r > 0)
		kill_for(run, VERDICT_FILE_LOCKS);
	else if (!run->up.jail.limited)
		sample_without_cgroup(run);
	else
		sample_cgroup(run);
}

/* of init's frames; not in struct run, which is copied and would be 64 KiB more */
static struct wire_reader reader;

static void serve_control(struct run *run)
{
	struct outcome *o = &run->outcome;
	struct wire_header h;
	const unsigned char *payload;
	int r = wire_reader_fill(&reader, run->up.jail.control);

	if (r == 0 || r == -EINTR)
		return;
	/* after this frame, the end of the stream or nonsense init is not heard again */
	run->ended = true;
	if (r < 0)
		return;
	payload = wire_reader_take(&reader, &h);
	if (h.type == WIRE_EXIT && h.length == sizeof(o->exit)) {
		memcpy(&o->exit, payload, sizeof(o->exit));
		o->have_exit = true;
	} else if (h.type == WIRE_FAIL && h.length == sizeof(o->fail)) {
		/* the program's exec */
		memcpy(&o->fail, payload, sizeof(o->fail));
		o->fail.text[sizeof(o->fail.text) - 1] = '\0';
		o->have_fail = true;
	}
}

static bool read_signal(struct run *run)
{
	struct signalfd_siginfo info;

	if (read(run->signals, &info, sizeof(info)) != sizeof(info))
		return false;
	run->outcome.cancel_signal = (int)info.ssi_signo;
	return true;
}

static void serve_signal(struct run *run)
{
	if (read_signal(run))
		kill_for(run, VERDICT_CANCELLED);
}

static void serve_listener(struct run *run)
{
	struct violations *v = &run->outcome.refused;
	int r = violation_serve(v, run->up.jail.plan, clock_now_ms() - run->start_ms);

	if (r < 0)
		refuse(run, -r, "violations: answer a refused call");
	else if (r > 0)
		kill_for(run, VERDICT_VIOLATION);
}

static void serve_stdout(struct run *run)
{
	(void)capture_read(&run->outcome.capture.stream[0]);
}

static void serve_stderr(struct run *run)
{
	(void)capture_read(&run->outcome.capture.stream[1]);
}

static void open_gate(struct run *run)
{
	struct outcome *o = &run->outcome;
	struct jail *j = &run->up.jail;

	o->posture = run->up.posture;
	o->refused.fd = io_steal_fd(&run->up.gate.fd[GATE_LISTENER]);
	o->refused.lacks = denied_without_lacks(j->limited, j->landlock_abi, j->plan);
	o->listened = o->refused.fd >= 0;
	if (j->limited)
		cgroup_usage(&j->cgroup, NULL, &o->before);
	o->started = true;
	o->start = time(NULL);
	run->start_ms = run->sampled_ms = clock_now_ms();
	run->sample_in_ms = CPU_POLL_MIN_MS;
	io_close_fd(&run->hold[0]);
	if (gate_open(&j->gate) < 0)
		run->ended = true;
}

/* a byte of whoever holds the program back; its end, too, is an answer */
static void serve_hold(struct run *run)
{
	char go;

	if (read(run->hold[0], &go, 1) != 1)
		refuse(run, ECANCELED,
		       "--hold: nobody is left who could start the program");
	else
		open_gate(run);
}

/* what the loop waits for; a source whose fd is -1 is not there */
static const struct {
	size_t fd; /* its place in struct run */
	void (*serve)(struct run *run);
} sources[] = {
	{ offsetof(struct run, up.jail.control), serve_control },
	{ offsetof(struct run, keeper), serve_keeper },
	{ offsetof(struct run, signals), serve_signal },
	{ offsetof(struct run, hold[0]), serve_hold },
	{ offsetof(struct run, outcome.refused.fd), serve_listener },
	/* and what these are passed on to, see capture_wanted() */
	{ offsetof(struct run, outcome.capture.stream[0].outside), serve_stdout },
	{ offsetof(struct run, outcome.capture.stream[1].outside), serve_stderr },
};

static void loop(struct run *run)
{
	struct pollfd fds[COUNT(sources)];

	while (!run->ended) {
		run->flooded_ms = violation_wait_ms(&run->outcome.refused,
						    clock_now_ms() - run->start_ms);
		for (size_t i = 0; i < COUNT(sources); i++) {
			fds[i] = (struct pollfd){ .events = POLLIN };
			memcpy(&fds[i].fd, (char *)run + sources[i].fd, sizeof(int));
			/* whoever floods the listener waits for its answers */
			if (run->flooded_ms && sources[i].serve == serve_listener)
				fds[i].fd = -1;
		}
		for (size_t i = 0; i < CAPTURE_STREAMS; i++)
			fds[COUNT(sources) - CAPTURE_STREAMS + i] =
				capture_wanted(&run->outcome.capture.stream[i]);
		if (poll(fds, COUNT(sources), next_timeout(run)) < 0) {
			if (errno == EINTR)
				continue;
			refuse(run, errno, "run: poll");
			return;
		}
		for (size_t i = 0; i < COUNT(sources) && !run->ended; i++)
			if (fds[i].revents)
				sources[i].serve(run);
		if (!run->ended && run->outcome.started)
			check_deadlines(run);
	}
}

/* What the program printed before it ended by itself is passed on, however slow its
 * reader is; after a kill, as much as the caller's pipe has room for. A signal or
 * --wall-time ends that as it ends the program. */
static void deliver(struct run *run)
{
	struct outcome *o = &run->outcome;
	struct capture_stream *s = o->capture.stream;
	uint64_t wall = run->up.jail.plan->limit[LIMIT_WALL_MS];

	while (capture_pass(&o->capture) && o->killed == NOT_KILLED &&
	       !run->lost.errnum) {
		uint64_t ran = clock_now_ms() - run->start_ms;
		uint64_t left = wall > ran ? wall - ran : 0;
		struct pollfd fds[] = { { run->signals, POLLIN, 0 },
					capture_wanted(&s[0]),
					capture_wanted(&s[1]) };

		if (left) {
			(void)poll(fds, COUNT(fds),
				   left > WAIT_MAX_MS ? WAIT_MAX_MS : (int)left);
			if (!fds[0].revents || !read_signal(run))
				continue;
		}
		o->killed = left ? VERDICT_CANCELLED : VERDICT_WALL_TIMEOUT;
		o->have_exit = false;
	}
}

/* what can only be known before the jail is gone */
static void gather(struct run *run)
{
	struct outcome *o = &run->outcome;
	struct keeper_sample last;

	o->wall_ms = clock_now_ms() - run->start_ms;
	o->full = tmpfs_usage_full(&run->up.tmpfs);
	tmpfs_usage_close(&run->up.tmpfs);
	if (!o->have_exit || !o->exit.strays)
		return;
	/* init told of at least one, also where they cannot be counted */
	o->strays = 1;
	if (run->up.jail.limited) {
		int left = cgroup_count(&run->up.jail.cgroup);

		/* init itself is still there, to be counted too */
		o->strays = left > 2 ? (unsigned int)left - 1 : 1;
	} else if (sample_now(run, &last) && last.processes > 1) {
		o->strays = last.processes;
	}
}

int run_loop_run(struct run *run, struct err *e)
{
	struct outcome *o = &run->outcome;
	int r;

	reader.have = 0;
	run->keeper = run->up.jail.keeper->socket;
	if (run->hold[0] < 0)
		open_gate(run);
	else
		(void)dprintf(run->hold[1], "%d\n", run->up.gate.program);
	io_close_fd(&run->hold[1]);
	loop(run);
	gather(run);
	/* a keeper of its own ends beside the jail; where there is a leaf, that is read
	 * first */
	if (!run->up.jail.limited && run->up.jail.keeper->one)
		keeper_close(run->up.jail.keeper);
	/* while a kill is under way, counters still change */
	launch_wait(&run->up.jail);
	/* no process is left that could write */
	r = capture_drain(&o->capture, e);
	deliver(run);
	if (r == 0)
		r = capture_drain(&o->capture, e);
	o->cgroup = run->up.jail.limited;
	/* without what the jail used before its program started */
	if (o->cgroup)
		cgroup_usage(&run->up.jail.cgroup, &o->before, &o->usage);
	if (!run->lost.errnum)
		return r;
	*e = run->lost;
	return -e->errnum;
}
