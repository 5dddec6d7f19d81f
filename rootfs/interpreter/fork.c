/* SPDX-License-Identifier: MIT */
/*
 * fork.c - forks of an interpreter that the C library does not offer: see fork.h
 *
 * Theory of operation
 *   A snapshot must be a child of PID 1, which supervises, and not of the process that it
 *   is forked from, where the program's own wait(2) would meet it. Only clone(2) itself
 *   makes such a child (CLONE_PARENT), and
 *   the C library must not notice. It keeps its thread's id in a word of its own, by
 *   which mutexes know their owner; fork(3) has the kernel write the child's id there
 *   (CLONE_CHILD_SETTID), and so does fork_sibling(). It also has to tell the kernel of
 *   its list of robust mutexes again, which no child inherits. That is all that fork(3)
 *   does beside locks and handlers.
 *
 *   prctl(PR_GET_TID_ADDRESS) would tell where that word is, but not every kernel has it
 *   and no jail allows it. So it is found by what it does: the word is one of struct
 *   pthread, it holds gettid(), and it is what a recursive mutex takes its owner from.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/single_threaded.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "init/io.h"
#include "rootfs/interpreter/fork.h"
#include "rootfs/interpreter/probe.h"

#define SETTLE_NS 250000
#define SETTLE_CPU_NS 50000000
#define SETTLE_NOISE_NS 20000 /* as little is nothing, where clocks are slow to be read */
#define SETTLE_TRIES 4000     /* a second or more, on a host that hardly lets them run */

/* how often, at most, until no lock is held in what comes of it; the last is not asked */
#define AMONG_TRIES 8

#define ENDED_NS 50000
#define ENDED_CPU_NS 250000000
#define ENDED_TRIES 20000 /* as many are a second or more, too */
#define ENDED_STILL 20

/* struct pthread has about 2,300 bytes; the id comes in the first third of them */
#define SEARCHED_BYTES 1024
#define MARK 0x3a5c1e77 /* no thread's id: more than the kernel's largest, 2^22 */

static volatile pid_t *tid_word;
static struct robust_list_head *robust;

/* does a mutex that is locked now belong to what the word says? */
static bool is_owner(volatile pid_t *word)
{
	pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
	pid_t kept = *word;

	*word = MARK;
	(void)pthread_mutex_lock(&mutex);
	bool found = mutex.__data.__owner == MARK;
	(void)pthread_mutex_unlock(&mutex);
	*word = kept;
	return found;
}

int fork_prepare(struct err *e)
{
	volatile pid_t *words = (volatile pid_t *)pthread_self();
	pid_t tid = gettid();
	size_t bytes;

	if (tid_word)
		return 0;
	for (size_t i = 0; i < SEARCHED_BYTES / sizeof(*words) && !tid_word; i++)
		if (words[i] == tid && is_owner(words + i))
			tid_word = words + i;
	if (!tid_word)
		return err_say(
			e, ENOTSUP,
			"interpreter: this C library keeps thread ids in a place that was not found: build the tree with glibc");
	if (syscall(SYS_get_robust_list, 0, &robust, &bytes) < 0)
		robust = NULL;
	return 0;
}

void fork_child_libc(void)
{
	if (robust)
		(void)syscall(SYS_set_robust_list, robust, sizeof(*robust));
}

/* @parent: CLONE_PARENT, or 0 */
static pid_t fork_raw(unsigned long parent)
{
	const unsigned long flags =
		parent | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD;

#ifdef __x86_64__
	long pid = syscall(SYS_clone, flags, NULL, NULL, tid_word, 0UL);
#else
	long pid = syscall(SYS_clone, flags, NULL, NULL, 0UL, tid_word);
#endif
	if (pid < 0)
		return -errno;
	if (pid == 0)
		fork_child_libc();
	return (pid_t)pid;
}

pid_t fork_sibling(void)
{
	return fork_threads() > 0 ? -EBUSY : fork_raw(CLONE_PARENT);
}

int fork_threads(void)
{
	struct stat task;

	/* no thread was ever made by the C library, and nobody else makes any */
	if (__libc_single_threaded)
		return 0;
	/* a folder has a link for itself, one for its name, and one for each folder in it
	 */
	if (stat("/proc/self/task", &task) < 0)
		return -ENOENT;
	return task.st_nlink > 3 ? (int)(task.st_nlink - 3) : 0;
}

/* does a thread beside this one run, wait for a page, or end in this moment? */
static bool others_run(void)
{
	const struct dirent *entry;
	DIR *tasks = opendir("/proc/self/task");
	int running = 0;

	while (tasks && (entry = readdir(tasks))) {
		char file[sizeof(entry->d_name) + 8], text[1024];
		const char *state;

		(void)snprintf(file, sizeof(file), "%s/stat", entry->d_name);
		/* what lies above is this thread once more */
		if (entry->d_name[0] == '.' ||
		    io_read_file_at(dirfd(tasks), file, text, sizeof(text)) <= 0)
			continue;
		state = strrchr(text, ')');
		running +=
			state && (state[2] == 'R' || state[2] == 'D' || state[2] == 'X');
	}
	if (tasks)
		(void)closedir(tasks);
	return running > 1; /* one is this */
}

static int64_t cpu_ns(clockid_t whose)
{
	struct timespec t = { 0 };

	(void)clock_gettime(whose, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int fork_ended(int known)
{
	const struct timespec moment = { .tv_nsec = ENDED_NS };
	int64_t enough = cpu_ns(CLOCK_PROCESS_CPUTIME_ID) + ENDED_CPU_NS;
	int threads = fork_threads(), still = 0;

	for (int tries = 0;
	     threads > known && tries < ENDED_TRIES && still < ENDED_STILL &&
	     cpu_ns(CLOCK_PROCESS_CPUTIME_ID) < enough;
	     tries++) {
		(void)nanosleep(&moment, NULL);
		still = others_run() ? 0 : still + 1;
		threads = fork_threads();
	}
	return threads;
}

/* what the other threads have used, but for what this one does between the two calls */
static int64_t others_ns(void)
{
	int64_t all_ns = cpu_ns(CLOCK_PROCESS_CPUTIME_ID);

	return all_ns - cpu_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Wait until none of the other threads runs. With the GIL held, they wait for it or for
 * something that takes its time, and no lock that is taken for a moment is held. */
static void settle(void)
{
	const struct timespec moment = { .tv_nsec = SETTLE_NS };
	int64_t used_ns = others_ns(), enough_ns = used_ns + SETTLE_CPU_NS;
	int still = 0;

	/*
	 * Twice, as one may just be on its way from lock to lock. They are looked at one
	 * by one: where they wake each other in turn, each may sleep when it is looked
	 * at.
	 */
	for (int tries = 0; tries < SETTLE_TRIES && still < 2 && used_ns < enough_ns;
	     tries++) {
		int64_t before_ns = used_ns;

		(void)nanosleep(&moment, NULL);
		still = others_run() ? 0 : still + 1;
		used_ns = others_ns();
		if (used_ns - before_ns > SETTLE_NOISE_NS)
			still = 0;
	}
}

/* the mutexes that all of SQLite shares: its allocator's, its random numbers', ... */
static sqlite3_mutex *shared[SQLITE_MUTEX_STATIC_VFS3 - SQLITE_MUTEX_STATIC_MAIN + 1];
#define SHARED (sizeof(shared) / sizeof(shared[0]))

static size_t take_shared(void)
{
	size_t taken = 0;

	while (taken < SHARED && sqlite3_mutex_try(shared[taken]) == SQLITE_OK)
		taken++;
	return taken;
}

static void leave_shared(size_t taken)
{
	while (taken > 0)
		sqlite3_mutex_leave(shared[--taken]);
}

/*
 * Take the mutexes of C libraries that fork(3) does not know of. SQLite has some that all
 * connections share, and threads that compute in it, without the GIL, hold one or another
 * most of the time. Held by a thread that is not there after a fork, it would stay so for
 * ever. Waits for them, for a second or more; then it takes none.
 */
static void hold(void)
{
	const struct timespec moment = { .tv_nsec = SETTLE_NS };

	/* what begins it holds a mutex that has no name; nobody begins it twice */
	if (sqlite3_initialize() != SQLITE_OK)
		return;
	for (size_t i = 0; i < SHARED; i++)
		shared[i] = sqlite3_mutex_alloc(SQLITE_MUTEX_STATIC_MAIN + (int)i);
	/* all or none, as the order in which SQLite takes them is its own affair */
	for (int tries = 0; tries < SETTLE_TRIES; tries++) {
		size_t taken = take_shared();

		if (taken == SHARED)
			return;
		leave_shared(taken);
		(void)nanosleep(&moment, NULL);
	}
	memset(shared, 0, sizeof(shared));
}

/* both processes do so; of NULL SQLite takes no notice */
static void release(void)
{
	leave_shared(SHARED);
}

static void close_pair(const int *pair)
{
	(void)close(pair[0]);
	(void)close(pair[1]);
}

/* What is to be the sibling has been cloned from a process that is ending. Its parent is
 * init when that has ended, which the first process tells by @down. */
static void begin_sibling(const int *up, const int *down, bool probe)
{
	char word = 0;

	if (probe)
		probe_locks();
	(void)close(down[1]); /* else its end would not be heard */
	if (write(up[1], &word, 1) != 1 || read(down[0], &word, 1) != 1)
		_exit(1);
	(void)close(up[0]);
	(void)close(up[1]);
	(void)close(down[0]);
}

/*
 * fork(3) frees the C library's own locks in the child, but cannot make a sibling. So its
 * child clones one more process, and ends.
 *
 * Return: as fork_among(); -EDEADLK: a thread held a lock that the sibling needs
 */
static pid_t fork_twice(bool probe)
{
	int up[2], down[2], status = 0, r = -EDEADLK;
	char word = 0;
	pid_t pid;

	if (pipe2(up, O_CLOEXEC) < 0)
		return -errno;
	if (pipe2(down, O_CLOEXEC) < 0) {
		r = -errno;
		close_pair(up);
		return r;
	}
	settle();
	hold();
	pid = fork();
	if (pid < 0)
		r = -errno;
	release();
	if (pid == 0) {
		pid = fork_raw(0);
		if (pid != 0)
			_exit(pid < 0 ? -pid : 0);
		begin_sibling(up, down, probe);
		return 0;
	}
	(void)close(up[1]);
	if (pid > 0 && waitpid(pid, &status, 0) == pid && status != 0)
		r = WIFEXITED(status) ? -WEXITSTATUS(status) : -EAGAIN;
	else if (pid > 0 && read(up[0], &word, 1) == 1 && write(down[1], &word, 1) == 1)
		r = 1;
	(void)close(up[0]);
	close_pair(down);
	return r;
}

pid_t fork_among(void)
{
	int tries = AMONG_TRIES;
	pid_t r;

	do
		r = fork_twice(tries > 1);
	while (r == -EDEADLK && --tries > 0);
	return r;
}
