/* SPDX-License-Identifier: MIT */
/*
 * violate.c - calls that no honest program makes, for test_violation.py; only in a jail
 *
 * list               the names of all calls
 * call NAME...       make each, and say "NAME ERRNO"
 * raw NAME ARG...    one call with these arguments
 * hold NAME          one call, then "held", and a long sleep
 * families FROM TO   a socket of each of these families
 * many N T P         N calls in each of T threads in each of P processes
 * flood T MS         as many as they can in T threads for so long; then say how many
 * after HOW NAME     "before", the call, "after"; HOW is here, fork or thread
 * interrupted N      N calls under a storm of signals that restart them
 * killed N           N children are killed while they wait for the answer, or before
 * own-filter         a filter of its own, and a listener; then the call that it refuses
 * domain             its execution domain
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define X32_BIT 0x40000000L

/* arguments that would come to nothing, if anything went wrong */
static const struct call {
	const char *name;
	long nr;
	unsigned long arg[3];
} calls[] = {
	{ "ptrace", SYS_ptrace, { 99, 0, 0 } },
	{ "process_vm_readv", SYS_process_vm_readv, { 0 } },
	{ "process_vm_writev", SYS_process_vm_writev, { 0 } },
	{ "process_madvise", 440, { -1UL } },
	{ "kcmp", SYS_kcmp, { 0 } },
	{ "pidfd_getfd", 438, { -1UL } },
	{ "bpf", SYS_bpf, { 99 } },
	{ "perf_event_open", SYS_perf_event_open, { 0 } },
	{ "userfaultfd", SYS_userfaultfd, { -1UL } },
	{ "io_uring_setup", 425, { 0 } },
	{ "io_uring_enter", 426, { -1UL } },
	{ "io_uring_register", 427, { -1UL } },
	{ "keyctl", SYS_keyctl, { 9999 } },
	{ "add_key", SYS_add_key, { 0 } },
	{ "request_key", SYS_request_key, { 0 } },
	{ "mount", SYS_mount, { 0 } },
	{ "umount2", SYS_umount2, { 0 } },
	{ "pivot_root", SYS_pivot_root, { 0 } },
	{ "chroot", SYS_chroot, { 0 } },
	{ "open_tree", 428, { -1UL } },
	{ "move_mount", 429, { -1UL } },
	{ "fsopen", 430, { 0 } },
	{ "fsconfig", 431, { -1UL } },
	{ "fsmount", 432, { -1UL } },
	{ "fspick", 433, { -1UL } },
	{ "mount_setattr", 442, { -1UL } },
	{ "open_tree_attr", 467, { -1UL } },
	{ "unshare", SYS_unshare, { 0 } },
	{ "setns", SYS_setns, { -1UL } },
	{ "clone:CLONE_NEWUSER", SYS_clone, { CLONE_NEWUSER | CLONE_SIGHAND } },
	{ "clone:CLONE_NEWNS", SYS_clone, { CLONE_NEWNS | CLONE_SIGHAND } },
	{ "clone:CLONE_NEWPID", SYS_clone, { CLONE_NEWPID | CLONE_SIGHAND } },
	{ "clone:CLONE_NEWNET", SYS_clone, { CLONE_NEWNET | CLONE_SIGHAND } },
	{ "clone:CLONE_NEWIPC", SYS_clone, { CLONE_NEWIPC | CLONE_SIGHAND } },
	{ "clone:CLONE_NEWUTS", SYS_clone, { CLONE_NEWUTS | CLONE_SIGHAND } },
	{ "clone:CLONE_NEWCGROUP", SYS_clone, { CLONE_NEWCGROUP | CLONE_SIGHAND } },
	{ "kexec_load", SYS_kexec_load, { 0 } },
	{ "kexec_file_load", SYS_kexec_file_load, { -1UL } },
	{ "init_module", SYS_init_module, { 0 } },
	{ "finit_module", SYS_finit_module, { -1UL } },
	{ "delete_module", SYS_delete_module, { 0 } },
	{ "swapon", SYS_swapon, { 0 } },
	{ "swapoff", SYS_swapoff, { 0 } },
	{ "reboot", SYS_reboot, { 0 } },
	{ "settimeofday", SYS_settimeofday, { 1, 1 } },
	{ "clock_settime", SYS_clock_settime, { -1UL } },
	{ "clock_adjtime", SYS_clock_adjtime, { -1UL } },
	{ "adjtimex", SYS_adjtimex, { 1 } },
	{ "quotactl", SYS_quotactl, { -1UL } },
	{ "quotactl_fd", 443, { -1UL } },
	{ "fanotify_init", SYS_fanotify_init, { -1UL } },
	{ "fanotify_mark", SYS_fanotify_mark, { -1UL } },
	{ "open_by_handle_at", SYS_open_by_handle_at, { -1UL } },
	{ "name_to_handle_at", SYS_name_to_handle_at, { -1UL } },
	{ "syslog", SYS_syslog, { 99 } },
	{ "capset", SYS_capset, { 0 } },
	{ "personality:PER_LINUX32", SYS_personality, { 8 } },
	{ "personality:ADDR_NO_RANDOMIZE", SYS_personality, { 0x40000 } },
	{ "personality:READ_IMPLIES_EXEC", SYS_personality, { 0x400000 } },
	{ "personality:ADDR_NO_RANDOMIZE|READ_IMPLIES_EXEC",
	  SYS_personality,
	  { 0x440000 } },
	{ "personality:", SYS_personality, { 1 } },
	{ "ioctl:TIOCSTI", SYS_ioctl, { -1UL, TIOCSTI } },
	{ "ioctl:TIOCLINUX", SYS_ioctl, { -1UL, TIOCLINUX } },
	{ "ioctl:TIOCSETD", SYS_ioctl, { -1UL, TIOCSETD } },
	{ "socket:AF_VSOCK", SYS_socket, { AF_VSOCK, 99 } },
	{ "socket:AF_PACKET", SYS_socket, { AF_PACKET, 99 } },
	{ "socket:AF_ALG", SYS_socket, { AF_ALG, 99 } },
	{ "socket:AF_NETLINK", SYS_socket, { AF_NETLINK, 99 } },
	{ "socket:AF_XDP", SYS_socket, { AF_XDP, 99 } },
	{ "memfd_create:MEMFD_EXEC", SYS_memfd_create, { 0, 0x11 } },
	{ "prctl:PR_CAP_AMBIENT", SYS_prctl, { 47, 99 } },
};

/* refused, but no violations: heard of by --learn alone */
static const struct call quiet[] = {
	{ "syncfs", SYS_syncfs, { -1UL } },
	{ "msgget", SYS_msgget, { 1, 0 } },
	{ "ioprio_set", SYS_ioprio_set, { 99 } },
	{ "ioctl:FIOASYNC", SYS_ioctl, { -1UL, 0x5452 } },
	{ "prctl:PR_SET_MM", SYS_prctl, { 35, 15 } },
	{ "socket:AF_INET", SYS_socket, { AF_INET, SOCK_STREAM, 99 } },
};

static const struct call *find(const char *name)
{
	for (size_t i = 0; i < COUNT(calls); i++)
		if (strcmp(calls[i].name, name) == 0)
			return &calls[i];
	for (size_t i = 0; i < COUNT(quiet); i++)
		if (strcmp(quiet[i].name, name) == 0)
			return &quiet[i];
	fprintf(stderr, "violate: no call is named %s\n", name);
	exit(98);
}

static const char *make(const struct call *call)
{
	const unsigned long *a = call->arg;

	if (syscall(call->nr, a[0], a[1], a[2], 0L, 0L, 0L) >= 0)
		return "let-through";
	return strerrorname_np(errno);
}

#if defined(__x86_64__)
static sigjmp_buf before_entry;

static void no_entry(int signum)
{
	(void)signum;
	siglongjmp(before_entry, 1);
}

/* the numbers of i386: 26 is ptrace, 20 getpid */
static long by_int80(long nr)
{
	long r;

	__asm__ volatile("int $0x80"
			 : "=a"(r)
			 : "a"(nr), "b"(99L), "c"(0L), "d"(0L), "S"(0L), "D"(0L)
			 : "memory", "r8", "r9", "r10", "r11");
	return r;
}

static void foreign(const char *name)
{
	const long nr = strtol(strchr(name, ':') + 1, NULL, 10);
	volatile long r = -1;

	/* a kernel without 32-bit emulation has no gate for int 0x80 */
	(void)signal(SIGSEGV, no_entry);
	if (sigsetjmp(before_entry, 1)) {
		printf("%s lacks\n", name);
		return;
	}
	errno = 0;
	if (strncmp(name, "x32", 3) == 0)
		r = syscall(nr | X32_BIT, 0L, 0L, 0L);
	else
		errno = -(int)by_int80(nr);
	printf("%s %s\n", name,
	       r >= 0 || errno <= 0 ? "let-through" : strerrorname_np(errno));
}
#else
static void foreign(const char *name)
{
	printf("%s lacks\n", name);
}
#endif

static long per_thread;
static atomic_long answered;
static atomic_bool wrong, stop;

static void *repeat(void *arg)
{
	(void)arg;
	for (long i = 0; i < per_thread && !stop; i++) {
		if (syscall(SYS_ptrace, 99L, 0L, 0L, 0L) == 0 || errno != EPERM)
			wrong = true;
		answered++;
	}
	return NULL;
}

static void start_threads(pthread_t *threads, int count)
{
	for (int i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, repeat, NULL) != 0)
			exit(97);
}

static int many(char **argv)
{
	int threads = atoi(argv[1]), processes = atoi(argv[2]), status;
	pthread_t thread[64];

	per_thread = atol(argv[0]);
	for (int p = 0; p < processes; p++) {
		if (fork() != 0)
			continue;
		start_threads(thread, threads);
		for (int i = 0; i < threads; i++)
			(void)pthread_join(thread[i], NULL);
		_exit(wrong || answered != threads * per_thread);
	}
	while (wait(&status) > 0)
		wrong = wrong || status;
	return wrong;
}

static int flood(char **argv)
{
	long ms = atol(argv[1]);
	struct timespec time = { ms / 1000, ms % 1000 * 1000000 };
	pthread_t thread[64];

	per_thread = INT64_MAX;
	printf("flooding\n");
	(void)fflush(stdout);
	start_threads(thread, atoi(argv[0]));
	(void)nanosleep(&time, NULL);
	stop = true;
	for (int i = 0; i < atoi(argv[0]); i++)
		(void)pthread_join(thread[i], NULL);
	printf("%ld\n", (long)answered);
	return wrong;
}

static void *say_after(void *name)
{
	(void)make(find(name));
	(void)!write(1, "after\n", 6);
	return NULL;
}

static int after(char **argv)
{
	pthread_t thread;

	(void)!write(1, "before\n", 7);
	if (strcmp(argv[0], "thread") == 0) {
		if (pthread_create(&thread, NULL, say_after, argv[1]) != 0)
			return 97;
		(void)pthread_join(thread, NULL);
	} else if (strcmp(argv[0], "here") == 0 || fork() == 0) {
		(void)say_after(argv[1]);
	} else {
		(void)wait(NULL);
	}
	return 0;
}

static void ignore(int signal)
{
	(void)signal;
}

static int interrupted(char **argv)
{
	struct itimerval often = { { 0, 700 }, { 0, 700 } };
	struct sigaction act = { .sa_handler = ignore, .sa_flags = SA_RESTART };
	long n = atol(argv[0]);

	(void)sigaction(SIGALRM, &act, NULL);
	(void)setitimer(ITIMER_REAL, &often, NULL);
	for (long i = 0; i < n; i++)
		if (syscall(SYS_ptrace, 99L, 0L, 0L, 0L) == 0 || errno != EPERM)
			return 1;
	return 0;
}

static int killed(char **argv)
{
	for (long i = atol(argv[0]); i > 0; i--) {
		pid_t pid = fork();

		for (per_thread = INT64_MAX; pid == 0;)
			(void)repeat(NULL);
		for (long spin = 0; spin < i % 16; spin++)
			(void)sched_yield();
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
	}
	printf("done\n");
	return 0;
}

static int own_filter(char **argv)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOTTY),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { COUNT(code), code };

	(void)argv;
	errno = 0;
	(void)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		      SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
	printf("listener %s\n", strerrorname_np(errno));
	errno = 0;
	(void)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
	printf("filter %s\n", strerrorname_np(errno));
	printf("ptrace %s\n", make(find("ptrace")));
	printf("keyctl %s\n", make(find("keyctl")));
	return 0;
}

static int domain(char **argv)
{
	(void)argv;
	printf("%lx\n", syscall(SYS_personality, 0xffffffffUL));
	return 0;
}

static int raw(char **argv)
{
	unsigned long a[6] = { 0 };

	for (int i = 0; i < 6 && argv[i + 1]; i++)
		a[i] = strtoul(argv[i + 1], NULL, 0);
	errno = 0;
	(void)syscall(find(argv[0])->nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	printf("%s\n", strerrorname_np(errno));
	return 0;
}

static int hold(char **argv)
{
	(void)make(find(argv[0]));
	printf("held\n");
	(void)fflush(stdout);
	(void)sleep(60);
	return 0;
}

static int families(char **argv)
{
	for (long family = atol(argv[0]); family <= atol(argv[1]); family++)
		if (syscall(SYS_socket, family, 99L, 0L) >= 0 || errno != EPERM)
			printf("%ld %s\n", family, strerrorname_np(errno));
	return 0;
}

static const struct {
	const char *name;
	int (*act)(char **argv);
} commands[] = {
	{ "raw", raw },
	{ "hold", hold },
	{ "families", families },
	{ "many", many },
	{ "flood", flood },
	{ "after", after },
	{ "interrupted", interrupted },
	{ "killed", killed },
	{ "own-filter", own_filter },
	{ "domain", domain },
};

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "list") == 0) {
		for (size_t i = 0; i < COUNT(calls); i++)
			printf("%s\n", calls[i].name);
		return 0;
	}
	/* the program of a jail, and nothing else */
	if (getpid() != 2 || getppid() != 1) {
		fprintf(stderr, "violate: only in a jail\n");
		return 99;
	}
	for (int i = 2; strcmp(what, "call") == 0 && argv[i]; i++) {
		if (strncmp(argv[i], "x32:", 4) == 0 || strncmp(argv[i], "i386:", 5) == 0)
			foreign(argv[i]);
		else
			printf("%s %s\n", argv[i], make(find(argv[i])));
	}
	for (size_t i = 0; i < COUNT(commands); i++)
		if (strcmp(what, commands[i].name) == 0)
			return commands[i].act(argv + 2);
	return 0;
}
