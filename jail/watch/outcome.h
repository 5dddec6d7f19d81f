/* SPDX-License-Identifier: MIT */
/*
 * outcome.h - the evidence of a run, and the verdict that follows from it
 *
 * The event loop gathers the evidence. The verdict is a function of the evidence alone,
 * so that causes that are easily confused can be tested in pairs, without a jail.
 */
#pragma once

#include <time.h>

#include "jail/out/copy.h"
#include "jail/launch/posture.h"
#include "jail/watch/cgroup_usage.h"
#include "jail/out/tmpfs_usage.h"
#include "jail/watch/violation.h"
#include "jail/watch/capture.h"

/* stepjail's own exit statuses, as timeout(1) and env(1) have them */
enum {
	STATUS_UNWRITTEN = 123,
	STATUS_TIMEOUT = 124,
	STATUS_FAILED = 125,
	STATUS_NOT_EXECUTABLE = 126,
	STATUS_NOT_FOUND = 127,
	STATUS_SIGNAL = 128, /* plus the signal's number */
};

enum verdict {
	VERDICT_COMPLETED,
	VERDICT_EXCEPTION,
	VERDICT_EXITED,
	VERDICT_SIGNALED,
	VERDICT_WALL_TIMEOUT,
	VERDICT_CPU_TIMEOUT,
	VERDICT_MEMORY,
	VERDICT_PIDS,
	VERDICT_DISK,
	VERDICT_FILE_LOCKS,
	VERDICT_VIOLATION,
	VERDICT_CANCELLED,
	VERDICT_LAUNCHER_ERROR,
	VERDICT_COUNT,
	NOT_KILLED = VERDICT_COMPLETED,
};

extern const char *const verdict_names[VERDICT_COUNT];

struct confinement;
struct egress;

struct outcome {
	/* why the launcher killed the jail: noted before it sends its signal, so that
	 * nobody has to guess; or NOT_KILLED */
	enum verdict killed;
	int cancel_signal; /* the launcher's own, for VERDICT_CANCELLED */
	bool have_exit;    /* init told the program's end */
	struct wire_exit exit;
	bool have_fail; /* a stage failed: the program never ran */
	struct wire_fail fail;
	struct posture posture; /* read back before the gate was opened */
	struct violations refused;
	struct capture capture;            /* of `run`; opened and ended there */
	const struct confinement *watcher; /* what confines `run`; NULL: not yet */
	bool listened;                     /* stepjail had the listener */
	bool started;                      /* the gate was opened */
	time_t start;                      /* when it was, by the wall clock */
	uint64_t wall_ms;                  /* from the gate's opening to the end */
	bool cgroup;                       /* usage is filled */
	struct cgroup_usage before;        /* when the gate was opened: the set-up's */
	struct cgroup_usage usage;         /* with that taken off */
	int full;                  /* enum tmpfs_usage_bit bits; negative: not known */
	struct keeper_sample peak; /* the highest samples, where no cgroup counts */
	uint64_t stack_bytes;      /* RLIMIT_STACK, which no option sets; or NO_LIMIT */
	unsigned int strays; /* processes that outlived the program, and were killed */
	uint32_t met;        /* of a step: enum wire_met, by its own word */
	const struct egress *egress; /* its map is NULL: no host was allowed */
	bool copied;                 /* out is filled */
	struct copied out;           /* of --out */
};

struct judgement {
	enum verdict verdict;
	int exit_code;    /* the program's, -1 if it did not exit */
	int signal;       /* that ended the program, 0 if none did */
	int status;       /* stepjail's own exit status */
	struct err error; /* for VERDICT_LAUNCHER_ERROR */
	/* limits, a bit each by its place in the plan: that were met, as the kernel or
	 * stepjail counted; and those that what is known points to, which is a hint */
	uint64_t met, near;
};

/** outcome_note_sample() - Keep the most that was seen of each measure */
void outcome_note_sample(struct outcome *o, const struct keeper_sample *s);

/**
 * outcome_judge() - Decide from the evidence
 *
 * Order of evidence: a failed stage; a kill that the launcher noted; the leaf's memory
 * events with a SIGKILL that nobody else sent; the program's own wait status. If a
 * program fails after processes were killed for memory, after forks were refused, or with
 * a full tmpfs, that is the verdict, in this order. A program that exits 0 has completed;
 * where its files could not be written, the status alone says so.
 */
void outcome_judge(const struct outcome *o, const struct plan *p, struct judgement *j);

/**
 * outcome_limits() - Which limits explain the end? Fills @j's last two from the rest of
 * it
 *
 * A part of outcome_judge(); again for who changes the verdict afterwards. What a program
 * was refused and lived with, no kernel without a cgroup tells: then a peak at three
 * quarters of a limit, or the word of a step, is the hint.
 */
void outcome_limits(const struct outcome *o, const struct plan *p, struct judgement *j);

/** outcome_counted() - Is this value of the usage known? */
bool outcome_counted(const struct outcome *o, uint64_t value);

/** outcome_memory() - The highest memory of the jail in bytes, likewise */
uint64_t outcome_memory(const struct outcome *o);

/** outcome_cpu_us() - CPU time of the whole jail in microseconds, from the best source */
uint64_t outcome_cpu_us(const struct outcome *o);
