/* SPDX-License-Identifier: MIT */
/*
 * probe_bomb.c - everything else that there is only so much of
 *
 * Each is bounded: argv[0] is how much is tried, a little more than the plan allows.
 */
#include "tests/escape/scene.h"

#include <pthread.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>

#define MAX 5000

static long amount(char **argv)
{
	long n = probe_number(argv, 0, "a number");

	if (n <= 0 || n > MAX)
		probe_lacks("a limit that can be reached within bounds");
	return n;
}

static void processes(char **argv)
{
	long count = amount(argv), made = 0;
	static pid_t pid[MAX];

	while (made < count && (pid[made] = fork()) >= 0) {
		if (pid[made] == 0) {
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
			(void)alarm(20);
			(void)pause();
			_exit(0);
		}
		made++;
	}
	door("processes", made == count ? 0 : -1);
	for (long i = 0; i < made; i++)
		(void)kill(pid[i], SIGKILL);
	while (wait(NULL) > 0)
		;
}

/* ended, but not waited for: nothing but its number is left of each */
static void zombies(char **argv)
{
	long count = amount(argv), made = 0;

	for (pid_t pid = 1; made < count && pid > 0;) {
		pid = fork();
		if (pid == 0)
			_exit(0);
		made += pid > 0;
	}
	door("zombies", made == count ? 0 : -1);
}

static void *sleep_long(void *unused)
{
	(void)pause();
	return unused;
}

static void threads(char **argv)
{
	long count = amount(argv), made = 0;
	pthread_attr_t small;

	(void)pthread_attr_init(&small);
	(void)pthread_attr_setstacksize(&small, 16384);
	for (; made < count; made++) {
		pthread_t thread;
		int r = pthread_create(&thread, &small, sleep_long, NULL);

		if (r != 0) {
			errno = r;
			break;
		}
	}
	door("threads", made == count ? 0 : -1);
}

/* orphans that leave the session and the group: they must end with the jail */
static void daemons(char **argv)
{
	(void)argv;
	for (int i = 0; i < 3; i++) {
		if (fork() != 0)
			continue;
		(void)setsid();
		if (fork() == 0) {
			(void)signal(SIGTERM, SIG_IGN);
			(void)signal(SIGHUP, SIG_IGN);
			(void)alarm(20);
			for (;;)
				(void)pause();
		}
		_exit(0);
	}
	while (wait(NULL) > 0)
		;
	door_word("left behind", false, "ended");
}

static void open_files(char **argv)
{
	long count = probe_number(argv, 1, "a number"), made = 0;
	struct rlimit limit;

	if (count > MAX || getrlimit(RLIMIT_NOFILE, &limit) < 0)
		probe_lacks("a limit that can be reached within bounds");
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max = limit.rlim_max + 1;
	/* with the right to it, even the hard limit goes up */
	if (setrlimit(RLIMIT_NOFILE, &limit) == 0)
		door("the hard limit", 0);
	while (made < count && open("/dev/null", O_RDONLY) >= 0)
		made++;
	door("open files", made == count ? 0 : -1);
}

/* argv: how many, then folders */
static void files(char **argv)
{
	long count = probe_number(argv, 0, "a number");

	for (argv++; *argv; argv++) {
		long made = 0;

		for (; made < count; made++) {
			char path[PATH_MAX];

			(void)snprintf(path, sizeof(path), "%s/f%ld", *argv, made);
			if (mknod(path, S_IFREG | 0600, 0) < 0)
				break;
		}
		door(*argv, made == count ? 0 : -1);
	}
}

/* folders in folders cost inodes, too, and deep trees cost those who remove them */
static void folders(char **argv)
{
	long count = probe_number(argv, 0, "a number");

	for (argv++; *argv; argv++) {
		long made = 0;

		if (chdir(*argv) < 0)
			continue;
		while (made < count && mkdir("d", 0700) == 0 && chdir("d") == 0)
			made++;
		door(*argv, made == count ? 0 : -1);
	}
}

/* argv: bytes, then folders: what is there is counted, not what the size says */
static void fill_folders(char **argv)
{
	static const char block[1 << 16] = "x";
	long bytes = probe_number(argv, 0, "a number");

	(void)signal(SIGXFSZ, SIG_IGN);
	for (argv++; *argv; argv++) {
		long done = 0;
		bool full = false;

		/* in files, because one may have a limit of its own */
		for (int i = 0; !full && done < bytes; i++) {
			char path[PATH_MAX];
			long size = 0;
			int fd;

			(void)snprintf(path, sizeof(path), "%s/fill%d", *argv, i);
			fd = open(path, O_WRONLY | O_CREAT, 0600);
			while (fd >= 0 && done < bytes &&
			       write(fd, block, sizeof(block)) == sizeof(block)) {
				done += (long)sizeof(block);
				size++;
			}
			full = size == 0;
			if (fd >= 0)
				(void)close(fd);
		}
		door(*argv, full ? -1 : 0);
	}
}

/* a file of holes whose size is beyond all room, then its holes are filled */
static void sparse(char **argv)
{
	long bytes = probe_number(argv, 0, "a number");

	(void)signal(SIGXFSZ, SIG_IGN);
	for (argv++; *argv; argv++) {
		char path[PATH_MAX];
		int fd;

		(void)snprintf(path, sizeof(path), "%s/sparse", *argv);
		fd = open(path, O_RDWR | O_CREAT, 0600);
		(void)ftruncate(fd, 1L << 50);
		door(*argv, fallocate(fd, 0, 0, bytes));
		if (fd >= 0)
			(void)close(fd);
	}
}

/* stdout is a file of the host. argv: the largest size that the plan allows */
static void file_size(char **argv)
{
	static const char block[1 << 16] = "x";
	long limit = probe_number(argv, 0, "a limit");

	(void)signal(SIGXFSZ, SIG_IGN);
	for (long done = 0; done < limit; done += (long)sizeof(block))
		if (write(1, block, sizeof(block)) < 0)
			break;
	(void)fsync(1);
	errno = EFBIG;
	door("write on", pwrite(1, "x", 1, limit));
	door("a hole", ftruncate(1, limit + (1L << 20)));
}

/* argv: how many bytes are too many */
static void print(char **argv)
{
	static char block[1 << 16];
	long limit = probe_number(argv, 0, "a number");

	memset(block, 'x', sizeof(block) - 1);
	block[sizeof(block) - 1] = '\n';
	for (long done = 0; done < limit; done += (long)sizeof(block))
		if (write(1, block, sizeof(block)) < 0)
			break;
	door_word("\nwritten", false, "cut");
}

static void dump(char **argv)
{
	int status = 0;
	pid_t pid = fork();

	(void)argv;
	if (pid == 0)
		abort();
	(void)waitpid(pid, &status, 0);
	door_word("dump core", WIFSIGNALED(status) && WCOREDUMP(status), "no-core");
}

/*
 * A limit of 0 is none for the program that core_pattern may name, and one that is raised
 * is none at all: both are asked for, with every call and number that means it.
 */
static long set_core(const void *data)
{
	const struct rlimit *limit = data;
	long own = getpid(), high = 1L << 32 | RLIMIT_CORE;

	if (syscall(SYS_setrlimit, RLIMIT_CORE, limit) == 0 ||
	    syscall(SYS_setrlimit, high, limit) == 0 ||
	    syscall(SYS_prlimit64, 0, RLIMIT_CORE, limit, NULL) == 0 ||
	    syscall(SYS_prlimit64, 0, high, limit, NULL) == 0)
		return 0;
	return syscall(SYS_prlimit64, own, RLIMIT_CORE, limit, NULL);
}

static void core_limit(char **argv)
{
	struct rlimit limit = { 0, 0 };

	(void)argv;
	door("lower it to 0", probe_in_child(set_core, &limit));
	limit.rlim_cur = limit.rlim_max = 1 << 20;
	door("raise it", probe_in_child(set_core, &limit));
}

/* signals that are queued and not taken: kernel memory of the user's */
static void queued(char **argv)
{
	union sigval value = { 0 };
	sigset_t all;
	long made = 0;

	(void)argv;
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_BLOCK, &all, NULL);
	while (made < 4000 && sigqueue(getpid(), 40, value) == 0)
		made++;
	door("signals", made == 4000 ? 0 : -1);
}

static void timers(char **argv)
{
	long made = 0;

	(void)argv;
	for (timer_t timer; made < 4000; made++)
		if (timer_create(CLOCK_MONOTONIC, NULL, &timer) < 0)
			break;
	door("timers", made == 4000 ? 0 : -1);
}

/* lookups of what is not there leave entries behind. argv: how many */
static void lookups(char **argv)
{
	long count = probe_number(argv, 0, "a number");
	char path[64];

	for (long i = 0; i < count; i++) {
		(void)snprintf(path, sizeof(path), "/stepjail-no-such-file-%d-%ld",
			       getpid(), i);
		(void)access(path, F_OK);
	}
	door_word("lookups", false, "bounded");
}

static void burn_for(long wanted_ms)
{
	struct timespec used;

	if (wanted_ms <= 0)
		probe_lacks("a limit of the time that can be reached within bounds");
	do
		(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	while (used.tv_sec * 1000 + used.tv_nsec / 1000000 < wanted_ms);
}

/* argv: milliseconds of CPU, or of the clock */
static void burn(char **argv)
{
	burn_for(probe_number(argv, 0, "a time"));
	door("CPU time", 0);
}

/* by children that nobody waits for: their time is added to nobody's when they end */
static void burn_unwaited(char **argv)
{
	long wanted_ms = probe_number(argv, 0, "a time"), each_ms = 400;

	(void)signal(SIGCHLD, SIG_IGN);
	for (long burnt_ms = 0; burnt_ms < wanted_ms; burnt_ms += each_ms) {
		pid_t pid = fork();

		if (pid == 0) {
			burn_for(each_ms);
			_exit(0);
		}
		if (pid < 0 || wait(NULL) >= 0 || errno != ECHILD) {
			door("a child that nobody waits for", -1);
			return;
		}
	}
	door("CPU time", 0);
}

static void linger(char **argv)
{
	long wanted_ms = probe_number(argv, 0, "a time");

	if (wanted_ms <= 0)
		probe_lacks("a limit of the time that can be reached within bounds");
	for (int s = 1; s < 64; s++)
		(void)signal(s, SIG_IGN);
	(void)usleep((useconds_t)wanted_ms * 1000);
	door("time", 0);
}

#define ROW(name, text, walls, scene, act)                                               \
	{                                                                                \
		name, text, walls, &scene_##scene, act, LIMITED, NULL                    \
	}

static const struct probe probes[] = {
	ROW("fork-bomb", "fork without end", W(CGROUP) | W(NPROC), pids, processes),
	ROW("zombie-bomb", "leave processes that nobody waits for", W(CGROUP) | W(NPROC),
	    pids, zombies),
	ROW("thread-bomb", "start threads without end", W(CGROUP) | W(NPROC), pids,
	    threads),
	ROW("daemons", "leave processes behind, in sessions of their own", W(PIDS),
	    strays, daemons),
	ROW("fd-bomb", "open files without end, raise the limit", W(NOFILE), limits,
	    open_files),
	ROW("inode-bomb", "fill kernel memory with empty files", W(TMPFS_INODES), inodes,
	    files),
	ROW("folder-bomb", "a tree that is deeper than what removes it", W(TMPFS_INODES),
	    inodes, folders),
	ROW("disk-bomb", "fill /tmp, /work and /dev/shm", W(TMPFS_SIZE) | W(CGROUP), room,
	    fill_folders),
	ROW("sparse-bomb", "a sparse file beyond all room, and its holes filled",
	    W(TMPFS_SIZE) | W(CGROUP) | W(FSIZE), room, sparse),
	ROW("file-size", "write a file of the host beyond --file-size", W(FSIZE),
	    output_file, file_size),
	ROW("output-bomb", "print without end", W(CAPTURE), output, print),
	ROW("core-dump", "have the host handle a core dump", W(CORE), core, dump),
	ROW("core-limit", "change the limit that keeps core dumps from the host",
	    W(SECCOMP), core, core_limit),
	ROW("signal-bomb", "queue signals without end", W(SIGPENDING), nothing, queued),
	ROW("timer-bomb", "make timers without end", W(SIGPENDING), nothing, timers),
	ROW("dentry-bomb", "fill kernel memory with names that are not there", W(CGROUP),
	    dentries, lookups),
	ROW("cpu-unwaited",
	    "use more CPU time than allowed, in children nobody waits for", W(WATCH), cpu,
	    burn_unwaited),
	ROW("cpu-bomb", "use more CPU time than allowed", W(WATCH) | W(CPU), cpu, burn),
	ROW("time-bomb", "stay beyond the wall time, all signals ignored", W(PIDS), wall,
	    linger),
};

AREA(bomb, "resource bombs", probes);
