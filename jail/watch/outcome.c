/* SPDX-License-Identifier: MIT */
/*
 * outcome.c - the evidence of a run, and its verdict: see outcome.h
 */
#include <sys/wait.h>

#include "jail/watch/outcome.h"

const char *const verdict_names[VERDICT_COUNT] = {
	[VERDICT_COMPLETED] = "completed",
	[VERDICT_EXCEPTION] = "exception",
	[VERDICT_EXITED] = "exited",
	[VERDICT_SIGNALED] = "signaled",
	[VERDICT_WALL_TIMEOUT] = "wall-timeout",
	[VERDICT_CPU_TIMEOUT] = "cpu-timeout",
	[VERDICT_MEMORY] = "memory",
	[VERDICT_PIDS] = "pids",
	[VERDICT_DISK] = "disk",
	[VERDICT_FILE_LOCKS] = "file-locks",
	[VERDICT_VIOLATION] = "violation",
	[VERDICT_CANCELLED] = "cancelled",
	[VERDICT_LAUNCHER_ERROR] = "launcher-error",
};

bool outcome_counted(const struct outcome *o, uint64_t value)
{
	return o->cgroup && value != NO_LIMIT;
}

/* is it known that this has happened? */
static bool has_happened(const struct outcome *o, uint64_t count)
{
	return outcome_counted(o, count) && count > 0;
}

uint64_t outcome_memory(const struct outcome *o)
{
	uint64_t peak = o->usage.memory_peak_bytes;

	if (outcome_counted(o, peak))
		return peak;
	return o->exit.max_rss_bytes > o->peak.memory_bytes ? o->exit.max_rss_bytes
							    : o->peak.memory_bytes;
}

uint64_t outcome_cpu_us(const struct outcome *o)
{
	uint64_t told = o->exit.user_us + o->exit.system_us;

	if (outcome_counted(o, o->usage.user_us))
		return o->usage.user_us + o->usage.system_us;
	/* Init counts the program and the children that it waited for. A sample counts
	 * all processes that were alive then. Neither is more than was used. */
	return told > o->peak.cpu_us ? told : o->peak.cpu_us;
}

static void judge_fail(const struct outcome *o, struct judgement *j)
{
	j->verdict = VERDICT_LAUNCHER_ERROR;
	j->status = STATUS_FAILED;
	(void)err_say(&j->error, o->fail.errnum ? err_told(o->fail.errnum) : EPROTO,
		      "%.*s", (int)sizeof(o->fail.text) - 1,
		      o->fail.text[0] ? o->fail.text : "the jail failed: reason unknown");
	if (o->fail.stage != stage_count - 1 || !o->started)
		return;
	/* only the exec of the program failed: all walls were up */
	j->status = o->fail.errnum == ENOENT || o->fail.errnum == ENOTDIR
			    ? STATUS_NOT_FOUND
			    : STATUS_NOT_EXECUTABLE;
}

/* a SIGKILL that the launcher did not send, and the leaf counted a kill for memory */
static bool killed_for_memory(const struct outcome *o, const struct judgement *j)
{
	return has_happened(o, o->usage.oom_kills) &&
	       (!o->have_exit || j->signal == SIGKILL || j->exit_code > 0);
}

/* RLIMIT_CPU kills with SIGKILL as well; the time used tells the two apart */
static bool killed_for_cpu(const struct outcome *o, const struct plan *p,
			   const struct judgement *j)
{
	return (j->signal == SIGKILL || j->signal == SIGXCPU) &&
	       p->limit[LIMIT_CPU_MS] != NO_LIMIT &&
	       outcome_cpu_us(o) / 1000 >= p->limit[LIMIT_CPU_MS];
}

static enum verdict judge_end(const struct outcome *o, const struct plan *p,
			      const struct judgement *j)
{
	/* whatever its other threads did meanwhile */
	if (o->killed == VERDICT_VIOLATION)
		return VERDICT_VIOLATION;
	/* The launcher kills init along with the program. If init could still tell the
	 * program's end, and that was no SIGKILL, the program had ended before the kill.
	 */
	if (o->killed != NOT_KILLED && (!o->have_exit || j->signal == SIGKILL))
		return o->killed;
	if (killed_for_memory(o, j))
		return VERDICT_MEMORY;
	if (!o->have_exit)
		return VERDICT_LAUNCHER_ERROR;
	if (killed_for_cpu(o, p, j))
		return VERDICT_CPU_TIMEOUT;
	/* a page of a mapped file that the full tmpfs has no room for is a SIGBUS */
	if (j->signal == SIGXFSZ || (j->signal == SIGBUS && o->full > 0))
		return VERDICT_DISK;
	if (j->signal)
		return VERDICT_SIGNALED;
	if (j->exit_code == 0)
		return VERDICT_COMPLETED;
	if (has_happened(o, o->usage.pids_refused))
		return VERDICT_PIDS;
	return o->full > 0 ? VERDICT_DISK : VERDICT_EXITED;
}

void outcome_note_sample(struct outcome *o, const struct keeper_sample *s)
{
	struct keeper_sample *peak = &o->peak;

	if (s->memory_bytes > peak->memory_bytes)
		peak->memory_bytes = s->memory_bytes;
	if (s->cpu_us > peak->cpu_us)
		peak->cpu_us = s->cpu_us;
	if (s->processes > peak->processes)
		peak->processes = s->processes;
	if (s->tasks > peak->tasks)
		peak->tasks = s->tasks;
}

#define BIT(limit) (1ULL << (limit))

/* was it the leaf's own limit? Else one above it was reached: the kernel tells no more */
static bool is_own(const struct outcome *o, const struct plan *p, enum limit limit)
{
	if (!o->cgroup)
		return true;
	return limit == LIMIT_MEMORY_BYTES ? o->usage.ooms > 0
	       : limit == LIMIT_PIDS       ? o->usage.pids_peak > p->limit[LIMIT_PIDS]
					   : true;
}

static uint64_t find_met(const struct outcome *o, const struct plan *p,
			 const struct judgement *j)
{
	static const uint64_t ends[VERDICT_COUNT] = {
		[VERDICT_WALL_TIMEOUT] = BIT(LIMIT_WALL_MS),
		[VERDICT_CPU_TIMEOUT] = BIT(LIMIT_CPU_MS),
		[VERDICT_MEMORY] = BIT(LIMIT_MEMORY_BYTES),
		[VERDICT_PIDS] = BIT(LIMIT_PIDS),
		[VERDICT_FILE_LOCKS] = BIT(LIMIT_FILE_LOCKS),
	};
	uint64_t met = ends[j->verdict];

	/* the counts of a session's leaf may be of an earlier step */
	if (has_happened(o, o->usage.pids_refused) && !p->session)
		met |= BIT(LIMIT_PIDS);
	if (has_happened(o, o->usage.oom_kills) && !p->session)
		met |= BIT(LIMIT_MEMORY_BYTES);
	if (j->signal == SIGXFSZ)
		met |= BIT(LIMIT_FILE_BYTES);
	if (o->full > 0 && (o->full & TMPFS_USAGE_WORK))
		met |= BIT(LIMIT_WORK_BYTES);
	if (o->full > 0 && (o->full & TMPFS_USAGE_TMP))
		met |= BIT(LIMIT_TMP_BYTES);
	for (int i = 0; i < LIMIT_COUNT; i++)
		if (!is_own(o, p, (enum limit)i))
			met &= ~BIT(i);
	return met;
}

/* Words of the step; and, where no cgroup counts, peaks. With one, memory that there is
 * not is no exception but a kill. */
static uint64_t find_near(const struct outcome *o, const struct plan *p)
{
	static const uint64_t words[] = {
		BIT(LIMIT_MEMORY_BYTES),
		BIT(LIMIT_PIDS),
		BIT(LIMIT_FILES),
		BIT(LIMIT_FILE_BYTES),
		BIT(LIMIT_WORK_BYTES) | BIT(LIMIT_TMP_BYTES),
	};
	uint64_t near = 0, memory = p->limit[LIMIT_MEMORY_BYTES];

	for (size_t i = 0; i < COUNT(words); i++)
		if (o->met >> i & 1)
			near |= words[i];
	if (o->cgroup)
		return near & ~BIT(LIMIT_MEMORY_BYTES);
	if (outcome_memory(o) >= memory - memory / 4)
		near |= BIT(LIMIT_MEMORY_BYTES);
	if (o->peak.tasks >= p->limit[LIMIT_PIDS])
		near |= BIT(LIMIT_PIDS);
	return near;
}

void outcome_limits(const struct outcome *o, const struct plan *p, struct judgement *j)
{
	const uint64_t disk = BIT(LIMIT_WORK_BYTES) | BIT(LIMIT_TMP_BYTES);

	j->met = find_met(o, p, j);
	j->near = 0;
	/* an end that is explained has one cause */
	if (!o->started || o->killed != NOT_KILLED || (!j->signal && j->exit_code <= 0))
		return;
	j->near = find_near(o, p) & ~j->met;
	if (j->met & disk)
		j->near &= ~disk;
	for (int i = 0; i < LIMIT_COUNT; i++)
		if (p->limit[i] == NO_LIMIT)
			j->near &= ~BIT(i);
}

static int status_of(const struct outcome *o, const struct judgement *j)
{
	if (j->verdict == VERDICT_WALL_TIMEOUT)
		return STATUS_TIMEOUT;
	if (j->verdict == VERDICT_CANCELLED)
		return STATUS_SIGNAL + o->cancel_signal;
	if (j->verdict == VERDICT_LAUNCHER_ERROR)
		return STATUS_FAILED;
	if (j->signal)
		return STATUS_SIGNAL + j->signal;
	/* init was killed together with the program, and told nothing of its end */
	return j->exit_code >= 0 ? j->exit_code : STATUS_SIGNAL + SIGKILL;
}

void outcome_judge(const struct outcome *o, const struct plan *p, struct judgement *j)
{
	*j = (struct judgement){ .exit_code = -1 };

	if (o->have_fail) {
		judge_fail(o, j);
		return;
	}
	if (o->have_exit && WIFEXITED((int)o->exit.wstatus))
		j->exit_code = WEXITSTATUS((int)o->exit.wstatus);
	if (o->have_exit && WIFSIGNALED((int)o->exit.wstatus))
		j->signal = WTERMSIG((int)o->exit.wstatus);
	j->verdict = judge_end(o, p, j);
	if (j->verdict == VERDICT_LAUNCHER_ERROR)
		(void)err_say(
			&j->error, ECHILD,
			"the jail's init ended before it reported how the program ended, and stepjail did not kill it");
	outcome_limits(o, p, j);
	j->status = status_of(o, j);
	if (j->status == 0 && o->out.errnum)
		j->status = STATUS_UNWRITTEN;
}
