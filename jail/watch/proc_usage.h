/* SPDX-License-Identifier: MIT */
/*
 * proc_usage.h - what a jail uses, sampled from /proc, where no cgroup counts it
 *
 * What lies in sockets and pipes is not told there, so it is not counted.
 */
#pragma once

#include "jail/launch/keeper.h"
#include "jail/plan/plan.h"

#define PROC_USAGE_PERIOD_MS 50

struct proc_usage {
	uint64_t memory_bytes;  /* anonymous and shared memory, swap, page tables */
	uint64_t cpu_us;        /* CPU time of all processes, ended ones included */
	unsigned int processes; /* stepjail-init not counted */
	unsigned int tasks;     /* their threads, likewise */
	/* this file's own, from one sample of a jail to the next; 0 before the first */
	uint64_t exact_bytes;   /* memory as last counted exactly */
	uint64_t quick_bytes;   /* the sum that had made it so */
	uint64_t exact_at_us;   /* on the monotonic clock */
	uint64_t exact_cost_us; /* CPU time that it took */
	uint64_t found_us;      /* CPU time that was found at the last sample */
	uint64_t lost_us; /* of this, what was not found later: nobody waited for it */
};

/**
 * proc_usage_check() - Can this kernel list a jail's processes?
 * @init:	stepjail-init's pid in the caller's PID namespace
 *
 * Return: 0, or -errno
 */
int proc_usage_check(pid_t init, struct err *e);

/**
 * proc_usage_sample() - Sum up over a jail's processes
 * @init:	stepjail-init's pid in the caller's PID namespace
 * @w:		Of the sample before, or zeroed
 *
 * Pages that a fork or vfork shares are counted once, but only where a sum that counts
 * them in each process is over @limit_bytes: the exact count walks page tables. See
 * proc(5).
 * After one, the next waits ten times as long as it took, or twice where the sum has
 * grown by what was left, a second at most; until then its result stands. CPU time of a
 * process that no other waits for, since its parent ignores SIGCHLD, counts as far as it
 * was seen: its last moments, from a sample to its end, are not known.
 *
 * Return: 0, or -errno where /proc cannot be read; a process may end meanwhile
 */
int proc_usage_sample(pid_t init, uint64_t limit_bytes, struct proc_usage *w,
		      struct err *e);

/**
 * proc_usage_look() - The same in the keeper, whose rights allow it to see; in numbers
 * @plan:	Of the one jail in the life of the process
 */
void proc_usage_look(void *plan, pid_t init, struct keeper_sample *s);

/**
 * proc_usage_quick() - The same, without the exact count, for whoever has it made
 * elsewhere
 *
 * Return: 0, 1 (memory_bytes is the quick sum, over @limit_bytes: the exact count is
 * due), or as proc_usage_sample()
 */
int proc_usage_quick(pid_t init, uint64_t limit_bytes, struct proc_usage *w,
		     struct err *e);

/**
 * proc_usage_exact() - Count the memory of a process, and of all below it, exactly
 *
 * For page tables it takes the right to ptrace(2); without it, this is the quick sum.
 *
 * Return: 0, or -errno
 */
int proc_usage_exact(pid_t init, uint64_t *bytes);

/** proc_usage_counted() - This came of it, for so much CPU time */
void proc_usage_counted(struct proc_usage *w, uint64_t bytes, uint64_t cost_us);

/* a list of processes that grows */
struct found {
	pid_t *pid;
	unsigned int count, room;
};

/** found_add() - One more at the end of a list; 0 or -ENOMEM */
int found_add(struct found *f, pid_t pid);

/** found_add_children() - Those that a process has now; 0 or -errno */
int found_add_children(struct found *f, pid_t pid);
