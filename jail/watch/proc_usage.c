/* SPDX-License-Identifier: MIT */
/*
 * proc_usage.c - what a jail uses, sampled from /proc: see proc_usage.h
 *
 * The processes are found from init downwards, by the children files of their threads.
 * Orphans become init's own children, so none can hide.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <linux/kcmp.h>

#include "init/io.h"
#include "jail/base/clock.h"
#include "jail/base/procfs.h"
#include "jail/watch/proc_usage.h"

/* between two exact counts of memory, in CPU time of the first: they take a tenth of a
 * CPU, or a third where the quick sum grows; and with a second between them at the most,
 * more only where one takes more than a tenth of a second */
#define PAUSE 10
#define PAUSE_GROWN 2
#define PAUSE_MAX_US 1000000

int found_add(struct found *f, pid_t pid)
{
	if (f->count == f->room) {
		unsigned int room = f->room ? 2 * f->room : 256;
		pid_t *more = realloc(f->pid, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		f->pid = more;
		f->room = room;
	}
	f->pid[f->count++] = pid;
	return 0;
}

/* what is read of a process that has ended meanwhile */
static bool has_ended(int errnum)
{
	return errnum == ENOENT || errnum == ESRCH;
}

/* the file may be of any length: a list of numbers, read as such */
static int add_children(struct found *f, pid_t pid, const char *task)
{
	char file[64];
	FILE *list;
	int child, fd, r = 0;

	(void)snprintf(file, sizeof(file), "/task/%.16s/children", task);
	fd = procfs_open_place(pid, file, O_RDONLY);
	if (fd < 0)
		return fd;
	list = fdopen(fd, "re");
	if (!list) {
		r = -errno;
		io_close_fd(&fd);
		return r;
	}
	while (r == 0 && fscanf(list, "%d", &child) == 1)
		r = found_add(f, child);
	if (r == 0 && ferror(list))
		r = -errno;
	(void)fclose(list);
	return r;
}

int found_add_children(struct found *f, pid_t pid)
{
	char path[64], own[16];
	unsigned int before = f->count;
	struct stat task;
	int root = procfs_place(path, sizeof(path), pid, "/task"), r = 0;

	(void)snprintf(own, sizeof(own), "%d", pid);
	/* a folder has two links, and one for each folder in it: it has one thread */
	if (fstatat(root, path, &task, 0) == 0 && task.st_nlink == 3 &&
	    add_children(f, pid, own) == 0)
		return 0;
	f->count = before;

	cleanup_folder DIR *tasks = procfs_tasks(pid);
	const char *thread;

	if (!tasks)
		return has_ended(errno) ? 0 : -errno;
	while (r == 0 && (thread = folder_next(tasks))) {
		r = add_children(f, pid, thread);
		/* a thread may end at any time; a kernel without the file has none at all
		 */
		if (r < 0 && has_ended(-r))
			r = f->count > 1 || faccessat(root, path, F_OK, 0) < 0 ? 0 : r;
	}
	return r;
}

/* of status or smaps_rollup, which tell kB; 0 if it is not there */
static uint64_t kib_of(const char *text, const char *key)
{
	return procfs_number(text, key, 10) * 1024;
}

/*
 * The status of a process, by @pid, or by that of a thread that still has its memory: the
 * first thread may have ended before the others, and its files show none then.
 */
static ssize_t read_status(pid_t *pid, char *text, size_t size)
{
	ssize_t n = procfs_read(*pid, "status", text, size);

	if (n <= 0 || !strstr(text, "\nState:\tZ") || strstr(text, "\nThreads:\t1\n"))
		return n;

	cleanup_folder DIR *tasks = procfs_tasks(*pid);
	const char *name;

	if (!tasks)
		return -errno;
	while ((name = folder_next(tasks))) {
		pid_t thread = (pid_t)strtol(name, NULL, 10);

		if (thread == *pid)
			continue;
		n = procfs_read(thread, "status", text, size);
		if (n > 0 && strstr(text, "\nVmPTE:")) {
			*pid = thread;
			break;
		}
		if (n < 0 && !has_ended((int)-n))
			break;
	}
	return n;
}

/*
 * Has it the memory of its parent, which is counted, as between vfork(2) and exec? The
 * kernel compares, so that no process can pretend to. Where it may not be asked, the
 * memory is counted twice. Two that have none are the same to it: so this one must have
 * some afterwards still, as what is gone never comes back. A first thread that has ended
 * has none, and its process is the same as no other.
 */
static bool is_parents(pid_t pid, char *text, size_t size)
{
	pid_t parent = (pid_t)procfs_number(text, "PPid:", 10);

	return parent > 0 && syscall(SYS_kcmp, parent, pid, KCMP_VM, 0, 0) == 0 &&
	       procfs_read(pid, "status", text, size) > 0 && strstr(text, "\nVmPTE:");
}

/* page tables are memory, too: a sparse mapping can have more of them than of pages. The
 * parent of the first process that is looked at shares no memory with it */
static int add_memory(pid_t pid, bool exact, uint64_t *bytes, unsigned int *tasks)
{
	static char text[65536]; /* the caller's groups are in it */
	char rollup[4096];
	ssize_t n = read_status(&pid, text, sizeof(text));

	if (n < 0)
		return has_ended((int)-n) ? 0 : (int)n;
	*tasks += (unsigned int)procfs_number(text, "Threads:", 10);
	if (exact && is_parents(pid, text, sizeof(text)))
		return 0;
	*bytes += kib_of(text, "VmPTE:");
	if (exact && procfs_read(pid, "smaps_rollup", rollup, sizeof(rollup)) > 0)
		*bytes += kib_of(rollup, "Pss_Anon:") + kib_of(rollup, "Pss_Shmem:") +
			  kib_of(rollup, "SwapPss:");
	else
		*bytes += kib_of(text, "RssAnon:") + kib_of(text, "RssShmem:") +
			  kib_of(text, "VmSwap:");
	return 0;
}

/* own time and that of children waited for; the name in front may hold anything */
static int add_cpu(pid_t pid, uint64_t *us)
{
	char text[1024], state = '?';
	uint64_t user = 0, system = 0, child_user = 0, child_system = 0;
	ssize_t n = procfs_read(pid, "stat", text, sizeof(text));

	if (n < 0)
		return has_ended((int)-n) ? 0 : (int)n;

	const char *at = strrchr(text, ')');

	if (!at || sscanf(at + 1,
			  " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64
			  " %" SCNu64 " %" SCNu64 " %" SCNu64,
			  &state, &user, &system, &child_user, &child_system) != 5)
		return -EBADMSG;
	if (state == 'X') /* waited for just now, and in its parent's time already */
		return 0;
	*us += (user + system + child_user + child_system) * 1000000 /
	       (uint64_t)sysconf(_SC_CLK_TCK);
	return 0;
}

int proc_usage_check(pid_t init, struct err *e)
{
	char path[64], file[32];

	(void)snprintf(file, sizeof(file), "/task/%d/children", init);
	if (faccessat(procfs_place(path, sizeof(path), init, file), path, R_OK, 0) < 0)
		return err_say(
			e, errno,
			"watch: this kernel has no /proc/PID/task/TID/children (CONFIG_PROC_CHILDREN), so memory cannot be watched, and there is no cgroup to limit it");
	return 0;
}

static int sum_memory(const struct found *f, bool exact, uint64_t *bytes,
		      unsigned int *tasks)
{
	int r = 0;

	*bytes = *tasks = 0;
	for (unsigned int i = 0; r == 0 && i < f->count; i++)
		r = add_memory(f->pid[i], exact, bytes, tasks);
	return r;
}

/* when to walk all page tables again: sooner where there may be too much by now */
static uint64_t pause_us(const struct proc_usage *w, uint64_t limit_bytes)
{
	bool grown = w->memory_bytes > w->quick_bytes &&
		     w->memory_bytes - w->quick_bytes + w->exact_bytes > limit_bytes;
	uint64_t us = (grown ? PAUSE_GROWN : PAUSE) * w->exact_cost_us;

	return us > PAUSE_MAX_US ? PAUSE_MAX_US : us;
}

/* Where many processes share much, an exact count would take most of a CPU that nobody
 * charges the jail with. What was too much may have ended when it is looked at again. */
static bool is_due(const struct proc_usage *w, uint64_t limit_bytes)
{
	return w->exact_bytes > limit_bytes ||
	       clock_us(CLOCK_MONOTONIC) >= w->exact_at_us + pause_us(w, limit_bytes);
}

static int find_processes(struct found *f, pid_t init)
{
	int r;

	f->count = 0;
	r = found_add(f, init);
	for (unsigned int i = 0; r == 0 && i < f->count; i++)
		r = found_add_children(f, f->pid[i]);
	return r;
}

static int find_all(struct found *f, pid_t init, uint64_t *cpu_us)
{
	int r = find_processes(f, init);

	*cpu_us = 0;
	for (unsigned int i = 0; r == 0 && i < f->count; i++)
		r = add_cpu(f->pid[i], cpu_us);
	return r;
}

int proc_usage_exact(pid_t init, uint64_t *bytes)
{
	struct found f = { 0 };
	unsigned int tasks;
	int r = find_processes(&f, init);

	if (r == 0)
		r = sum_memory(&f, true, bytes, &tasks);
	free(f.pid);
	return r;
}

void proc_usage_counted(struct proc_usage *w, uint64_t bytes, uint64_t cost_us)
{
	w->memory_bytes = w->exact_bytes = bytes;
	w->exact_at_us = clock_us(CLOCK_MONOTONIC);
	w->exact_cost_us = cost_us;
}

int proc_usage_quick(pid_t init, uint64_t limit_bytes, struct proc_usage *w,
		     struct err *e)
{
	static struct found f; /* keeps its room from sample to sample */
	uint64_t cpu_us;
	bool due;
	int r = find_all(&f, init, &cpu_us);

	/* one that moved, or was waited for, while it was looked for is not lost: it is
	 * found where it is now */
	if (r == 0 && cpu_us < w->found_us)
		r = find_all(&f, init, &cpu_us);
	if (r == 0)
		r = sum_memory(&f, false, &w->memory_bytes, &w->tasks);
	if (r < 0)
		return err_set(e, -r, "watch: look at what the jail's processes use");
	if (cpu_us < w->found_us)
		w->lost_us += w->found_us - cpu_us;
	w->found_us = cpu_us;
	w->cpu_us = cpu_us + w->lost_us;
	w->processes = f.count - 1;
	w->tasks -= w->tasks > 0; /* that of init */
	if (w->memory_bytes <= limit_bytes)
		return 0;
	due = is_due(w, limit_bytes);
	if (due)
		w->quick_bytes = w->memory_bytes;
	else
		w->memory_bytes = w->exact_bytes;
	return due;
}

int proc_usage_sample(pid_t init, uint64_t limit_bytes, struct proc_usage *w,
		      struct err *e)
{
	int r = proc_usage_quick(init, limit_bytes, w, e);
	uint64_t begin_us = clock_us(CLOCK_THREAD_CPUTIME_ID), bytes = 0;

	if (r <= 0)
		return r;
	r = proc_usage_exact(init, &bytes);
	if (r < 0)
		return err_set(e, -r, "watch: look at what the jail's processes use");
	proc_usage_counted(w, bytes, clock_us(CLOCK_THREAD_CPUTIME_ID) - begin_us);
	return 0;
}

void proc_usage_look(void *owner, pid_t init, struct keeper_sample *s)
{
	static struct proc_usage usage;
	const struct plan *p = owner;
	struct err e;

	s->errnum = -proc_usage_sample(init, p->limit[LIMIT_MEMORY_BYTES], &usage, &e);
	s->memory_bytes = usage.memory_bytes;
	s->cpu_us = usage.cpu_us;
	s->processes = usage.processes;
	s->tasks = usage.tasks;
}
