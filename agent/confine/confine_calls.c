/* SPDX-License-Identifier: MIT */
/*
 * confine_calls.c - the system calls of the agent's confined processes: a table, a row
 * each, and which need has it. See confine.h
 *
 * What no row allows fails with EPERM: a library that tries something finds another way,
 * or fails with a line that one can read. What nobody honest does here, to execute,
 * trace, mount, enter namespaces or have the kernel act on its own, ends the process: who
 * took it over has one try, and the kernel writes it into its log. So does another
 * architecture's entry, where numbers mean other calls.
 *
 * Knowingly left out: pidfd_open, kill and its kin, so that only what the broker gave a
 * pidfd of can be signalled, and the model client; every socket() and socketpair() of a
 * process without the need CONFINE_CONNECT, and an address to send to; AF_UNIX but for
 * pairs of streams, for Landlock refuses no path of a socket, and behind one may be a
 * container engine; MPTCP and MSG_FASTOPEN, which reach a port without Landlock being
 * asked; fcntl's F_SETOWN, which is a way to signal; memory that is executable. See
 * seccomp_rule_add(3).
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <termios.h>

#include "agent/confine/confine.h"

#define ALL 0U /* needed by every process */
#define CONDITIONS_MAX 3
#define DEADLY_MAX 16 /* calls of a row that nobody honest makes */

/* glibc and the kernel read an int from a 64-bit register: the low half alone counts */
#define INT 0xffffffffULL
#define ACCESS_BITS (O_ACCMODE | O_CREAT | O_EXCL | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY))
#define TYPE_BITS (INT & ~(uint64_t)(SOCK_NONBLOCK | SOCK_CLOEXEC))
#define NAMESPACES                                                                       \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |   \
	 CLONE_NEWPID | CLONE_NEWNET)

struct condition {
	unsigned int arg;
	uint64_t mask, value; /* (argument & mask) == value */
};

struct row {
	unsigned int needs; /* ALL, or any one of these */
	const char *call;   /* a name that this architecture lacks is passed over */
	const char *why;
	unsigned int count;
	struct condition when[CONDITIONS_MAX];
};

/* the last columns of a row */
#define ALWAYS .count = 0
#define IF(arg_, mask_, value_) .count = 1, .when[0] = { arg_, mask_, value_ }
#define BOTH(arg_, value_, arg2_, mask2_, value2_)                                       \
	.count = 2, .when[0] = { arg_, INT, value_ },                                    \
	.when[1] = { arg2_, mask2_, value2_ }
#define SOCKET(family, type, protocol)                                                   \
	.count = 3, .when[0] = { 0, INT, family }, .when[1] = { 1, TYPE_BITS, type },    \
	.when[2] = { 2, INT, protocol }

static const struct row allowed[] = {
	{ ALL, "read", "frames, the terminal, /proc/self/status", ALWAYS },
	{ ALL, "readv", "the same, of libraries", ALWAYS },
	{ ALL, "pread64", "read back what the kernel says of this process", ALWAYS },
	{ ALL, "write", "frames, the terminal, the transcript", ALWAYS },
	{ ALL, "writev", "the same, of libraries", ALWAYS },
	{ ALL, "pwrite64", "the history of lines, in its place", ALWAYS },
	{ ALL, "fallocate", "room for it first", ALWAYS },
	{ ALL, "fstatfs", "the same, where a file system reserves none", ALWAYS },
	{ ALL, "ftruncate", "and its end", ALWAYS },
	{ ALL, "lseek", "files that are open", ALWAYS },
	{ ALL, "fsync", "the transcript", ALWAYS },
	{ ALL, "fdatasync", "the transcript", ALWAYS },
	{ ALL, "close", "what is open", ALWAYS },
	{ ALL, "fstat", "what is open", ALWAYS },
	{ ALL, "newfstatat", "glibc's fstat(); of a path it tells attributes", ALWAYS },
	{ ALL, "statx", "the same on newer libraries", ALWAYS },
	{ ALL, "fcntl", "O_NONBLOCK", IF(1, INT, F_GETFL) },
	{ ALL, "fcntl", "O_NONBLOCK", IF(1, INT, F_SETFL) },
	{ ALL, "fcntl", "FD_CLOEXEC", IF(1, INT, F_GETFD) },
	{ ALL, "fcntl", "FD_CLOEXEC", IF(1, INT, F_SETFD) },
	{ ALL, "fcntl", "another number", IF(1, INT, F_DUPFD) },
	{ ALL, "fcntl", "another number", IF(1, INT, F_DUPFD_CLOEXEC) },
	{ ALL, "dup", "what is open", ALWAYS },
	{ ALL, "poll", "every wait", ALWAYS },
	{ ALL, "ppoll", "every wait", ALWAYS },
	{ ALL, "select", "waits of libraries", ALWAYS },
	{ ALL, "pselect6", "waits of libraries", ALWAYS },
	{ ALL, "ioctl", "is it a terminal?", IF(1, INT, TCGETS) },
	{ ALL, "ioctl", "its width", IF(1, INT, TIOCGWINSZ) },
	{ ALL, "ioctl", "bytes that wait", IF(1, INT, FIONREAD) },
	{ CONFINE_EDIT, "ioctl", "keys one by one", IF(1, INT, TCSETS) },
	{ CONFINE_EDIT, "ioctl", "the same, drained", IF(1, INT, TCSETSW) },
	{ CONFINE_EDIT, "ioctl", "the same, flushed", IF(1, INT, TCSETSF) },
	{ CONFINE_EDIT, "kill", "Ctrl-Z: the line editor stops the process group",
	  BOTH(0, 0, 1, INT, SIGTSTP) },
	{ CONFINE_EDIT, "kill", "and goes on", BOTH(0, 0, 1, INT, SIGCONT) },
	{ CONFINE_EDIT, "kill", "a new size of the window",
	  BOTH(0, 0, 1, INT, SIGWINCH) },
	{ CONFINE_EDIT, "kill", "Ctrl-\\ at the prompt", BOTH(0, 0, 1, INT, SIGQUIT) },
	{ CONFINE_EDIT, "fchmod", "libedit's mode for it", IF(1, INT, 0600) },

	/* memory: none that is executable */
	{ ALL, "mmap", "memory, files", IF(2, PROT_EXEC, 0) },
	{ ALL, "mmap2", "the same elsewhere", IF(2, PROT_EXEC, 0) },
	{ ALL, "mprotect", "stacks, malloc", IF(2, PROT_EXEC, 0) },
	{ ALL, "munmap", "memory", ALWAYS },
	{ ALL, "mremap", "realloc", ALWAYS },
	{ ALL, "madvise", "free", ALWAYS },
	{ ALL, "brk", "malloc", ALWAYS },

	/* this process alone */
	{ ALL, "exit", "end", ALWAYS },
	{ ALL, "exit_group", "end", ALWAYS },
	{ ALL, "futex", "locks of libraries", ALWAYS },
	{ ALL, "rt_sigaction", "handlers", ALWAYS },
	{ ALL, "rt_sigprocmask", "masks", ALWAYS },
	{ ALL, "rt_sigreturn", "the kernel's own return path", ALWAYS },
	{ ALL, "restart_syscall", "waits after a stop", ALWAYS },
	{ ALL, "sigaltstack", "stacks of handlers", ALWAYS },
	{ ALL, "clock_gettime", "time", ALWAYS },
	{ ALL, "clock_getres", "time", ALWAYS },
	{ ALL, "gettimeofday", "time", ALWAYS },
	{ ALL, "time", "time", ALWAYS },
	{ ALL, "nanosleep", "sleep", ALWAYS },
	{ ALL, "clock_nanosleep", "sleep", ALWAYS },
	{ ALL, "getrandom", "waits between retries, TLS", ALWAYS },
	{ ALL, "getpid", "itself", ALWAYS },
	{ ALL, "gettid", "itself", ALWAYS },
	{ ALL, "getppid", "itself", ALWAYS },
	{ ALL, "getuid", "itself", ALWAYS },
	{ ALL, "geteuid", "itself", ALWAYS },
	{ ALL, "getgid", "itself", ALWAYS },
	{ ALL, "getegid", "itself", ALWAYS },
	{ ALL, "uname", "the host's name and release", ALWAYS },
	{ ALL, "sysinfo", "qsort asks for the memory's size", ALWAYS },
	{ ALL, "sched_getaffinity", "how many processors", ALWAYS },
	{ ALL, "sched_yield", "locks of libraries", ALWAYS },
	{ ALL, "getrusage", "times of itself", ALWAYS },
	{ ALL, "prlimit64", "read own limits", BOTH(0, 0, 2, ~0ULL, 0) },
	{ ALL, "prctl", "read back: dumpable?", IF(0, INT, PR_GET_DUMPABLE) },

	/* sockets that are there: to broker, jail, client or main process */
	{ ALL, "sendto", "frames, TLS; to no address", .count = 2,
	  .when = { { 3, MSG_FASTOPEN, 0 }, { 4, ~0ULL, 0 } } },
	{ ALL, "recvfrom", "the same", ALWAYS },

	/* the broker and the jails */
	{ CONFINE_CHILDREN, "sendmsg", "fds for the broker", IF(2, MSG_FASTOPEN, 0) },
	{ CONFINE_CHILDREN | CONFINE_NAMES, "recvmsg", "its answer; netlink's", ALWAYS },
	{ CONFINE_CHILDREN | CONFINE_CONNECT, "pipe2",
	  "a stepjail's words; libcurl wakes itself", ALWAYS },
	{ CONFINE_CHILDREN, "wait4", "a stepjail's end, the client's", ALWAYS },
	{ CONFINE_CHILDREN, "waitid", "the same, on libc's choice", ALWAYS },
	{ CONFINE_CHILDREN, "pidfd_send_signal", "end one that hangs", ALWAYS },

	/* the model's server */
	{ CONFINE_CONNECT, "socketpair", "libcurl wakes itself",
	  BOTH(0, AF_UNIX, 1, TYPE_BITS, SOCK_STREAM) },
	{ CONFINE_CONNECT, "pipe", "the same", ALWAYS },
	{ CONFINE_CONNECT, "eventfd2", "the same", ALWAYS },
	{ CONFINE_CONNECT, "socket", "TCP", SOCKET(AF_INET, SOCK_STREAM, 0) },
	{ CONFINE_CONNECT, "socket", "TCP", SOCKET(AF_INET, SOCK_STREAM, IPPROTO_TCP) },
	{ CONFINE_CONNECT, "socket", "TCP", SOCKET(AF_INET6, SOCK_STREAM, 0) },
	{ CONFINE_CONNECT, "socket", "TCP", SOCKET(AF_INET6, SOCK_STREAM, IPPROTO_TCP) },
	{ CONFINE_CONNECT, "connect", "to the ports of the policy", ALWAYS },
	{ CONFINE_CONNECT, "shutdown", "the end of a connection", ALWAYS },
	{ CONFINE_CONNECT, "ioctl", "a socket that does not block", IF(1, INT, FIONBIO) },
	{ CONFINE_CONNECT, "getsockopt", "did it connect?", ALWAYS },
	{ CONFINE_CONNECT, "setsockopt", "TCP_NODELAY, keepalive", ALWAYS },
	{ CONFINE_CONNECT, "getsockname", "which address", ALWAYS },
	{ CONFINE_CONNECT, "getpeername", "which address", ALWAYS },

	/* its name */
	{ CONFINE_NAMES, "socket", "DNS; is there a road to an address?",
	  SOCKET(AF_INET, SOCK_DGRAM, 0) },
	{ CONFINE_NAMES, "socket", "DNS; is there a road to an address?",
	  SOCKET(AF_INET, SOCK_DGRAM, IPPROTO_UDP) },
	{ CONFINE_NAMES, "socket", "DNS; is there IPv6?",
	  SOCKET(AF_INET6, SOCK_DGRAM, 0) },
	{ CONFINE_NAMES, "socket", "DNS; is there a road to an address?",
	  SOCKET(AF_INET6, SOCK_DGRAM, IPPROTO_UDP) },
	{ CONFINE_NAMES, "socket", "getaddrinfo() asks which addresses this host has",
	  SOCKET(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE) },
	{ CONFINE_NAMES, "bind", "the same; Landlock refuses TCP", ALWAYS },
	{ CONFINE_NAMES, "sendto", "the same", IF(3, MSG_FASTOPEN, 0) },
	{ CONFINE_NAMES, "sendmmsg", "two questions", IF(3, MSG_FASTOPEN, 0) },
	{ CONFINE_NAMES, "recvmmsg", "two answers", ALWAYS },
	{ CONFINE_NAMES, "clone", "libcurl asks in a thread",
	  IF(0, NAMESPACES | CLONE_THREAD, CLONE_THREAD) },
	{ CONFINE_NAMES, "set_robust_list", "a thread's beginning", ALWAYS },
	{ CONFINE_NAMES, "rseq", "a thread's beginning", ALWAYS },
	{ CONFINE_NAMES, "prctl", "its name", IF(0, INT, PR_SET_NAME) },

	/* files */
	{ CONFINE_READ, "open", "read", IF(1, ACCESS_BITS, O_RDONLY) },
	{ CONFINE_READ, "openat", "read", IF(2, ACCESS_BITS, O_RDONLY) },
	{ CONFINE_READ, "stat", "of a file", ALWAYS },
	{ CONFINE_READ, "lstat", "of a file", ALWAYS },
	{ CONFINE_READ, "access", "of a file", ALWAYS },
	{ CONFINE_READ, "faccessat", "of a file", ALWAYS },
	{ CONFINE_READ, "faccessat2", "of a file", ALWAYS },
	{ CONFINE_READ, "readlink", "links to certificates", ALWAYS },
	{ CONFINE_READ, "readlinkat", "links to certificates", ALWAYS },
	{ CONFINE_READ, "getdents64", "folders of certificates", ALWAYS },
	{ CONFINE_READ, "getcwd", "a relative path", ALWAYS },
	{ CONFINE_READ, "fadvise64", "reading ahead", ALWAYS },
	{ CONFINE_COLLECT, "openat", "--out: a folder, to go into",
	  IF(2, ACCESS_BITS | O_PATH | O_DIRECTORY | O_NOFOLLOW,
	     O_PATH | O_DIRECTORY | O_NOFOLLOW) },
	{ CONFINE_COLLECT, "mkdirat", "--out: one that is not there", ALWAYS },
	{ CONFINE_CREATE | CONFINE_COLLECT, "openat",
	  ":get and --out, which write over nothing",
	  IF(2, ACCESS_BITS, O_WRONLY | O_CREAT | O_EXCL) },
	{ CONFINE_CREATE, "open", ":get, which writes over nothing",
	  IF(1, ACCESS_BITS, O_WRONLY | O_CREAT | O_EXCL) },
	{ CONFINE_KEEP, "fchmod", "a saved function is read by jails of other users",
	  IF(1, INT, 0644) },
	{ CONFINE_KEEP, "renameat2", "gets its name when it is whole, and takes nobody's",
	  IF(4, INT, RENAME_NOREPLACE) },
	{ CONFINE_KEEP, "linkat", "the same on a file system that cannot rename so",
	  IF(4, INT, 0) },
	{ CONFINE_KEEP, "unlinkat", "what could not be saved", IF(2, INT, 0) },
};

/* an answer that a library knows how to live with */
static const struct {
	const char *call;
	int errnum;
	const char *why;
} answered[] = {
	{ "clone3", ENOSYS, "its flags lie in memory: libc then takes clone" },
	{ "openat2", ENOSYS, "the same: openat" },
};

/* nobody honest is here */
static const struct {
	const char *why;
	const char *calls[DEADLY_MAX];
} deadly[] = {
	{ "execute a program", { "execve", "execveat" } },
	{ "look into another process, or change it",
	  { "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise",
	    "pidfd_getfd", "kcmp" } },
	{ "enter a namespace, change the tree of files",
	  { "unshare", "setns", "mount", "umount2", "pivot_root", "chroot", "move_mount",
	    "open_tree", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr" } },
	{ "have the kernel act on its own",
	  { "bpf", "perf_event_open", "io_uring_setup", "io_uring_enter",
	    "io_uring_register", "userfaultfd" } },
	{ "use keys that the kernel holds", { "keyctl", "add_key", "request_key" } },
	{ "change or replace the kernel",
	  { "init_module", "finit_module", "delete_module", "kexec_load",
	    "kexec_file_load", "reboot" } },
	{ "administer the host",
	  { "swapon", "swapoff", "acct", "quotactl", "syslog", "sethostname",
	    "setdomainname", "settimeofday", "clock_settime", "vhangup" } },
	{ "change users, groups and capabilities",
	  { "setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid",
	    "setgroups", "capset" } },
	{ "reach I/O ports, segments, another ABI",
	  { "modify_ldt", "iopl", "ioperm", "personality" } },
	{ "open files without a path, watch all of them",
	  { "open_by_handle_at", "fanotify_init", "lookup_dcookie" } },
};

static int add(scmp_filter_ctx ctx, uint32_t action, const char *call, unsigned int count,
	       const struct scmp_arg_cmp *when)
{
	int nr = seccomp_syscall_resolve_name(call);

	if (nr == __NR_SCMP_ERROR)
		return -EINVAL; /* a name that no architecture has */
	/* below zero are calls that this architecture lacks */
	return nr < 0 ? 0 : seccomp_rule_add_array(ctx, action, nr, count, when);
}

static int add_row(scmp_filter_ctx ctx, const struct row *row)
{
	struct scmp_arg_cmp when[CONDITIONS_MAX];

	for (unsigned int i = 0; i < row->count; i++)
		when[i] = (struct scmp_arg_cmp){ row->when[i].arg, SCMP_CMP_MASKED_EQ,
						 row->when[i].mask, row->when[i].value };
	return add(ctx, SCMP_ACT_ALLOW, row->call, row->count, when);
}

static int build(scmp_filter_ctx ctx, unsigned int needs)
{
	int r = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);

	if (r == 0)
		r = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_TSYNC, 1);
	for (size_t i = 0; r == 0 && i < COUNT(allowed); i++)
		if (allowed[i].needs == ALL || (allowed[i].needs & needs))
			r = add_row(ctx, &allowed[i]);
	for (size_t i = 0; r == 0 && i < COUNT(answered); i++)
		r = add(ctx, SCMP_ACT_ERRNO((uint32_t)answered[i].errnum),
			answered[i].call, 0, NULL);
	for (size_t i = 0; i < COUNT(deadly); i++)
		for (size_t k = 0; r == 0 && k < DEADLY_MAX && deadly[i].calls[k]; k++)
			r = add(ctx, SCMP_ACT_KILL_PROCESS, deadly[i].calls[k], 0, NULL);
	return r;
}

int confine_calls(unsigned int needs, struct err *e)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int r = ctx ? build(ctx, needs) : -ENOMEM;

	if (r == 0)
		r = seccomp_load(ctx);
	if (ctx)
		seccomp_release(ctx);
	return r < 0 ? err_set(e, -r, "confinement: seccomp") : 0;
}
