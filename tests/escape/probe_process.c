/* SPDX-License-Identifier: MIT */
/*
 * probe_process.c - other processes: tracing, signals, limits
 */
#include "tests/escape/scene.h"

#include <dirent.h>
#include <linux/kcmp.h>
#include <poll.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

static long be_traced(const void *unused)
{
	(void)unused;
	return ptrace(PTRACE_TRACEME, 0, NULL, NULL);
}

static void trace(char **argv)
{
	pid_t target = probe_target(probe_word(argv, 0, "a target"));

	door("seize", ptrace(PTRACE_SEIZE, target, NULL, NULL));
	(void)ptrace(PTRACE_DETACH, target, NULL, NULL);
	door("attach", ptrace(PTRACE_ATTACH, target, NULL, NULL));
	door("be traced", probe_in_child(be_traced, NULL));
}

static void other_memory(char **argv)
{
	static char word[8], mine[8];
	pid_t target = probe_target(probe_word(argv, 0, "a target"));
	struct iovec here = { mine, sizeof(mine) }, there = { word, sizeof(word) };
	int pidfd = (int)syscall(SYS_pidfd_open, target, 0);

	/* no address of ours is one of its own: EFAULT is an answer from behind the
	 * walls */
	door_reach("process_vm_readv",
		   syscall(SYS_process_vm_readv, target, &here, 1, &there, 1, 0));
	door_reach("process_vm_writev",
		   syscall(SYS_process_vm_writev, target, &here, 1, &there, 1, 0));
	there = (struct iovec){ (void *)((uintptr_t)word & ~0xfffUL), 4096 };
	door_reach("process_madvise",
		   syscall(440, pidfd, &there, 1, 20 /* MADV_COLD */, 0));
}

static void other_fds(char **argv)
{
	pid_t target = probe_target(probe_word(argv, 0, "a target"));
	int pidfd = (int)syscall(SYS_pidfd_open, target, 0);

	/* what init holds: the control socket, at 3 */
	for (int fd = 0; fd <= 4; fd++)
		door("pidfd_getfd", syscall(438, pidfd, fd, 0));
	door("kcmp", syscall(SYS_kcmp, getpid(), target, KCMP_VM, 0, 0));
}

static void signal_init(char **argv)
{
	static const int signals[] = { SIGTERM, SIGSEGV, SIGHUP, SIGINT,
				       SIGSTOP, SIGCONT, SIGKILL };
	pid_t target = probe_target(probe_word(argv, 0, "a target"));
	int pidfd = (int)syscall(SYS_pidfd_open, target, 0);
	struct pollfd gone = { .fd = pidfd, .events = POLLIN };
	int wait_ms = 200;

	if (pidfd < 0)
		probe_lacks("pidfd_open");
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		/* what is killed ends when it gets the CPU */
		if (kill(target, signals[i]) == 0)
			wait_ms = 20000;
		(void)syscall(SYS_tgkill, target, target, signals[i]);
		(void)syscall(424, pidfd, signals[i], NULL, 0);
	}
	door_word("the target ended", poll(&gone, 1, wait_ms) == 1, "alive");
}

/* argv: the PID of a process on the host */
static void signal_host(char **argv)
{
	pid_t target = (pid_t)probe_number(argv, 0, "a target");

	if (target <= 1)
		probe_lacks("a target");
	door("its existence", kill(target, 0));
	door("a pidfd", syscall(SYS_pidfd_open, target, 0));
	door("SIGCONT", kill(target, SIGCONT));
	door("one thread", syscall(SYS_tgkill, target, target, SIGCONT));
	door("its process group", kill(-target, SIGCONT));
}

/* a signal that the kernel sends for us, to whom we name as the owner of a socket */
static void signal_by_owner(char **argv)
{
	pid_t target = (pid_t)probe_number(argv, 0, "a target");
	int ends[2];

	if (target <= 1 || socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
		probe_lacks("a target and a socket");
	door("F_SETOWN", fcntl(ends[0], F_SETOWN, target));
	(void)fcntl(ends[0], F_SETSIG, SIGCONT);
	(void)fcntl(ends[0], F_SETFL, O_ASYNC | O_NONBLOCK);
	(void)!write(ends[1], "x", 1);
}

/* the scene looks whether another process of the caller's group has ended */
static void signal_group(char **argv)
{
	(void)argv;
	(void)signal(SIGUSR1, SIG_IGN);
	(void)kill(0, SIGUSR1);
	if (getpgrp() > 1) /* a group that cannot be seen has the number 0 */
		(void)kill(-getpgrp(), SIGUSR1);
	door_word("reach", false, "own-group");
}

/* join the group of a process on the host, or the caller's session */
static void join_group(char **argv)
{
	pid_t target = (pid_t)probe_number(argv, 0, "a target");

	door("its session", getsid(target));
	door("its group", getpgid(target));
	door("its priority",
	     (errno = 0, getpriority(PRIO_PROCESS, (id_t)target), errno) ? -1 : 0);
	door("its CPUs", syscall(SYS_sched_getaffinity, target, sizeof(long) * 16,
				 (unsigned long[16]){ 0 }));
}

static void limit_init(char **argv)
{
	struct rlimit limit = { 30, 30 };
	pid_t target = probe_target(probe_word(argv, 0, "a target"));

	/* a CPU limit that init has used up ends it */
	door("RLIMIT_CPU", prlimit(target, RLIMIT_CPU, &limit, NULL));
	limit.rlim_cur = limit.rlim_max = 64;
	door("RLIMIT_NOFILE", prlimit(target, RLIMIT_NOFILE, &limit, NULL));
}

/* what is slow to run is slow to end. Of the host's processes, the target is the only
 * one */
static void slow_init(char **argv)
{
	pid_t target = probe_target(probe_word(argv, 0, "a target"));
	int before = getpriority(PRIO_PROCESS, (id_t)target);
	cpu_set_t first;

	(void)setpriority(PRIO_PROCESS, (id_t)target, before + 1);
	(void)syscall(SYS_setpriority, PRIO_PROCESS, 1L << 32 | target, before + 1);
	if (target == 1) {
		(void)setpriority(PRIO_PGRP, (id_t)target, before + 1);
		(void)setpriority(PRIO_USER, 0, before + 1);
	}
	door_word("its priority", getpriority(PRIO_PROCESS, (id_t)target) != before,
		  "unchanged");
	CPU_ZERO(&first);
	(void)sched_getaffinity(target, sizeof(first), &first);
	door("its CPUs", sched_setaffinity(target, sizeof(first), &first));
	door("its CPUs, by half of the number",
	     syscall(SYS_sched_setaffinity, 1L << 32 | target, sizeof(first), &first));
}

static struct sockaddr_un name(const char *marker, socklen_t *length)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	(void)snprintf(at.sun_path + 1, sizeof(at.sun_path) - 1, "%s", marker);
	*length =
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(marker));
	return at;
}

static void be_victim(char **argv)
{
	const char *marker = probe_word(argv, 0, "a marker");
	socklen_t length;
	struct sockaddr_un to = name(marker, &length);
	int sock = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)alarm(20);
	if (bind(sock, (struct sockaddr *)&to, length) < 0 || listen(sock, 4) < 0)
		probe_lacks("a socket to listen on");
	printf("ready\n");
	(void)fflush(stdout);
	(void)pause();
}

/* a process that is not us, with the marker among its words */
static pid_t find(const char *marker)
{
	DIR *proc = opendir("/proc");
	pid_t found = 0;

	for (struct dirent *d; proc && !found && (d = readdir(proc));) {
		char path[300], text[4096];
		pid_t pid = (pid_t)strtol(d->d_name, NULL, 10);
		ssize_t n;

		if (pid <= 0 || pid == getpid())
			continue;
		(void)snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
		n = probe_read(path, text, sizeof(text));
		if (n > 0 && memmem(text, (size_t)n, "be-victim", 9) &&
		    memmem(text, (size_t)n, marker, strlen(marker)))
			found = pid;
	}
	if (proc)
		(void)closedir(proc);
	return found;
}

static void hunt(char **argv)
{
	const char *marker = probe_word(argv, 0, "a marker");
	socklen_t length;
	struct sockaddr_un to = name(marker, &length);
	int sock = socket(AF_UNIX, SOCK_STREAM, 0);
	pid_t victim = find(marker);

	door("its abstract socket", connect(sock, (struct sockaddr *)&to, length));
	door_word("its folder in /proc", victim > 0, "unseen");
	if (victim > 1)
		door("signal it", kill(victim, 0));
}

#define INIT(name, text, walls, act)                                                     \
	{                                                                                \
		name, text, walls, &scene_on_init, act, 0, NULL                          \
	}

static const struct probe probes[] = {
	INIT("trace-init", "trace init, or be traced", W(SECCOMP) | W(DUMPABLE), trace),
	INIT("memory-of-init", "read and write init's memory by process_vm_*",
	     W(SECCOMP) | W(DUMPABLE), other_memory),
	INIT("fds-of-init", "take init's fds: the control socket",
	     W(SECCOMP) | W(DUMPABLE), other_fds),
	INIT("signal-init", "kill, stop or interrupt init", W(PIDS), signal_init),
	INIT("limit-init", "change the limits of init", W(SECCOMP) | W(DUMPABLE),
	     limit_init),
	INIT("slow-init", "slow init down: its priority, its CPUs", W(SECCOMP),
	     slow_init),
	{ "signal-host", "signal a process of the host", W(PIDS), &scene_victim,
	  signal_host, 0, NULL },
	{ "signal-owner", "have the kernel signal a process of the host (F_SETOWN)",
	  W(PIDS), &scene_victim, signal_by_owner, 0, NULL },
	{ "signal-group", "signal the process group of the caller",
	  W(SESSION) | W(LANDLOCK), &scene_group, signal_group, 0, NULL },
	{ "host-process", "ask for session, group, priority and CPUs of a host's process",
	  W(PIDS), &scene_victim, join_group, 0, NULL },
	{ "be-victim", "wait to be found: the other jail's program", 0, NULL, be_victim,
	  0, NULL },
	{ "two-jails", "see or signal the program of another jail",
	  W(PIDS) | W(NET) | W(IDS), &scene_two_jails, hunt, 0, NULL },
};

AREA(process, "ptrace and signals", probes);
