/* SPDX-License-Identifier: MIT */
/*
 * sweep.c - find, count and kill what a step left running
 *
 * Theory of operation
 *   /proc is read whole into a table of pid and parent; the caller's descendants are
 *   marked by following parents; all but the interpreter are killed. What forks faster
 *   than it is killed is looked for again, a bounded number of times: the jail's process
 *   limit and its end are the real walls, this is tidying.
 *
 * Kernel: Documentation/filesystems/proc.rst; proc(5) for the fields of stat
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "init/io.h"
#include "rootfs/steps.h"

#define PROCESSES_MAX 4096
#define ROUNDS_MAX 8
#define PAUSES_MAX 200 /* of a millisecond: how long a killed process may take */
#define PAUSE_NS 1000000

struct process {
	int pid;
	int parent;
	unsigned int threads;
	bool zombie;
	bool ours; /* a descendant of the caller */
	bool dead; /* was killed in an earlier round */
};

struct table {
	size_t count;
	struct process row[PROCESSES_MAX];
};

/*
 * pid (comm) state ppid ..., field 20 is num_threads. The bytes of comm are the process's
 * own choice, so it is the last ')' that ends it.
 */
static bool read_stat(int proc, const char *name, struct process *p)
{
	char path[32], text[1024];

	if (snprintf(path, sizeof(path), "%.20s/stat", name) < 0 ||
	    io_read_file_at(proc, path, text, sizeof(text)) < 0)
		return false;

	const char *after = strrchr(text, ')');
	char state;

	if (!after || sscanf(after + 1,
			     " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d"
			     " %*d %*d %u",
			     &state, &p->parent, &p->threads) != 3)
		return false;
	p->zombie = state == 'Z' || state == 'X';
	return true;
}

static void read_table(struct table *t)
{
	DIR *proc = opendir("/proc");

	t->count = 0;
	if (!proc)
		return;
	for (struct dirent *d; t->count < PROCESSES_MAX && (d = readdir(proc));) {
		struct process *p = &t->row[t->count];

		*p = (struct process){ .pid = (int)strtol(d->d_name, NULL, 10) };
		if (p->pid > 0 && read_stat(dirfd(proc), d->d_name, p))
			t->count++;
	}
	(void)closedir(proc);
}

static struct process *find(struct table *t, int pid)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->row[i].pid == pid)
			return &t->row[i];
	return NULL;
}

/* every pass marks at least one more level of children, or is the last */
static void mark_ours(struct table *t)
{
	int self = (int)getpid();
	bool more = true;

	while (more) {
		more = false;
		for (size_t i = 0; i < t->count; i++) {
			struct process *p = &t->row[i];
			const struct process *parent = find(t, p->parent);

			if (!p->ours && (p->parent == self || (parent && parent->ours)))
				p->ours = more = true;
		}
	}
}

/* kill what is ours and alive; *dying are those that were killed before and are not gone */
static uint32_t kill_ours(struct table *now, struct table *before, int keep,
			  uint32_t *dying)
{
	uint32_t killed = 0;

	*dying = 0;
	for (size_t i = 0; i < now->count; i++) {
		struct process *p = &now->row[i];
		const struct process *old = find(before, p->pid);

		if (!p->ours || p->zombie || p->pid == keep)
			continue;
		(void)kill(p->pid, SIGKILL);
		p->dead = true;
		if (old && old->dead)
			++*dying;
		else
			killed++;
	}
	return killed;
}

/* a thread of the interpreter is none of its processes, and cannot be killed alone */
static uint32_t count_threads(struct table *t, int keep)
{
	const struct process *p = find(t, keep);

	return p && !p->zombie && p->threads > 1 ? p->threads - 1 : 0;
}

uint32_t sweep_strays(int keep)
{
	static struct table tables[2];
	struct timespec pause = { .tv_nsec = PAUSE_NS };
	uint32_t found = 0, dying = 0;
	int rounds = 0, pauses = 0;

	tables[1].count = 0;
	for (int turn = 0; rounds < ROUNDS_MAX && pauses < PAUSES_MAX; turn++) {
		struct table *now = &tables[turn % 2], *before = &tables[(turn + 1) % 2];

		read_table(now);
		mark_ours(now);
		if (turn == 0)
			found += count_threads(now, keep);

		uint32_t killed = kill_ours(now, before, keep, &dying);

		found += killed;
		if (killed) {
			rounds++;
			continue;
		}
		/* what takes its time to die would be counted again after the next step */
		if (!dying)
			break;
		(void)nanosleep(&pause, NULL);
		pauses++;
	}
	return found;
}
