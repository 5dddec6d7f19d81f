/* SPDX-License-Identifier: MIT */
/*
 * confine_calls.c - the system calls of the agent's confined processes: tables, whose
 * rows say why some calls are as they are, and which need has them. See confine.h
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

#include "agent/confine/confine.h"

#define ALL 0U /* needed by every process */
#define CALLS_MAX 16
#define CONDITIONS_MAX 3
#define OTHERS_MAX 5

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
	const char *why;
	const char *calls[CALLS_MAX]; /* what this architecture lacks is passed over */
	struct condition when[CONDITIONS_MAX]; /* of all of them; no mask: none */
	/* of a row with one call: what the last condition's value may be, too */
	uint64_t others[OTHERS_MAX];
};

/* the last columns of a row */
#define OR(...) .others = { __VA_ARGS__ }
#define IF(arg_, mask_, value_) .when[0] = { arg_, mask_, value_ }
#define BOTH(arg_, value_, arg2_, mask2_, value2_)                                       \
	.when = { { arg_, INT, value_ }, { arg2_, mask2_, value2_ } }
#define SOCKET(family, type, protocol)                                                   \
	.when = { { 0, INT, family }, { 1, TYPE_BITS, type }, { 2, INT, protocol } }

static const struct row allowed[] = {
	{ ALL, "frames, the terminal, the transcript, /proc/self/status",
	  .calls = { "read", "readv", "pread64", "write", "writev", "fsync",
		     "fdatasync" } },
	{ ALL, "the history of lines, in its place: room for it first, and its end",
	  .calls = { "pwrite64", "fallocate", "fstatfs", "ftruncate" } },
	{ ALL,
	  "what is open; newfstatat is glibc's fstat(): of a path it tells attributes",
	  .calls = { "lseek", "close", "dup", "fstat", "newfstatat", "statx" } },
	{ ALL, "O_NONBLOCK, FD_CLOEXEC, another number", .calls = { "fcntl" },
	  IF(1, INT, F_DUPFD), OR(F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL) },
	{ ALL, "every wait, those of libraries too",
	  .calls = { "poll", "ppoll", "select", "pselect6" } },
	{ ALL, "is it a terminal? its width; bytes that wait, and away with them",
	  .calls = { "ioctl" }, IF(1, INT, TCGETS), OR(TIOCGWINSZ, FIONREAD, TCFLSH) },
	{ CONFINE_EDIT, "keys one by one; the same, drained; the same, flushed",
	  .calls = { "ioctl" }, IF(1, INT, TCSETS), OR(TCSETSW, TCSETSF) },
	{ CONFINE_EDIT,
	  "the line editor to its process group: Ctrl-Z, and on; a new size; Ctrl-\\",
	  .calls = { "kill" }, BOTH(0, 0, 1, INT, SIGTSTP),
	  OR(SIGCONT, SIGWINCH, SIGQUIT) },
	{ CONFINE_EDIT, "libedit's mode for the history", .calls = { "fchmod" },
	  IF(1, INT, 0600) },

	{ ALL, "memory, files, stacks; none that is executable",
	  .calls = { "mmap", "mmap2", "mprotect" }, IF(2, PROT_EXEC, 0) },
	{ ALL, "malloc, realloc, free",
	  .calls = { "brk", "mremap", "madvise", "munmap" } },

	/* this process alone */
	{ ALL, "its end", .calls = { "exit", "exit_group" } },
	{ ALL, "locks of libraries", .calls = { "futex", "sched_yield" } },
	{ ALL, "handlers, masks, the kernel's own ways back from a signal and a stop",
	  .calls = { "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack",
		     "restart_syscall" } },
	{ ALL, "time, sleep",
	  .calls = { "clock_gettime", "clock_getres", "gettimeofday", "time", "nanosleep",
		     "clock_nanosleep" } },
	{ ALL, "waits between retries, TLS", .calls = { "getrandom" } },
	{ ALL, "itself, and its times",
	  .calls = { "getpid", "gettid", "getppid", "getuid", "geteuid", "getgid",
		     "getegid", "getrusage" } },
	{ ALL, "the host's release and processors; qsort asks for the memory's size",
	  .calls = { "uname", "sched_getaffinity", "sysinfo" } },
	{ ALL, "read own limits", .calls = { "prlimit64" }, BOTH(0, 0, 2, ~0ULL, 0) },
	{ ALL, "read back: dumpable?", .calls = { "prctl" },
	  IF(0, INT, PR_GET_DUMPABLE) },

	/* sockets that are there: to broker, jail, client or main process */
	{ ALL, "frames, TLS; to no address", .calls = { "sendto" },
	  .when = { { 3, MSG_FASTOPEN, 0 }, { 4, ~0ULL, 0 } } },
	{ ALL, "the same", .calls = { "recvfrom" } },

	/* the broker and the jails */
	{ CONFINE_CHILDREN | CONFINE_NAMES, "the broker's answer; netlink's",
	  .calls = { "recvmsg" } },
	{ CONFINE_CHILDREN, "a stepjail's end, the client's; end one that hangs",
	  .calls = { "wait4", "waitid", "pidfd_send_signal" } },

	/* the model's server */
	{ CONFINE_CONNECT, "libcurl wakes itself", .calls = { "socketpair" },
	  BOTH(0, AF_UNIX, 1, TYPE_BITS, SOCK_STREAM) },
	{ CONFINE_CONNECT, "the same", .calls = { "pipe", "pipe2", "eventfd2" } },
	{ CONFINE_CONNECT, "TCP", .calls = { "socket" }, SOCKET(AF_INET, SOCK_STREAM, 0),
	  OR(IPPROTO_TCP) },
	{ CONFINE_CONNECT, "TCP", .calls = { "socket" }, SOCKET(AF_INET6, SOCK_STREAM, 0),
	  OR(IPPROTO_TCP) },
	{ CONFINE_CONNECT, "to the ports of the policy", .calls = { "connect" } },
	{ CONFINE_CONNECT, "a socket that does not block", .calls = { "ioctl" },
	  IF(1, INT, FIONBIO) },
	{ CONFINE_CONNECT, "did it connect, and how? TCP_NODELAY, keepalive, its end",
	  .calls = { "getsockopt", "getsockname", "getpeername", "setsockopt",
		     "shutdown" } },

	/* its name */
	{ CONFINE_NAMES, "DNS; is there a road to an address?", .calls = { "socket" },
	  SOCKET(AF_INET, SOCK_DGRAM, 0), OR(IPPROTO_UDP) },
	{ CONFINE_NAMES, "the same; is there IPv6?", .calls = { "socket" },
	  SOCKET(AF_INET6, SOCK_DGRAM, 0), OR(IPPROTO_UDP) },
	{ CONFINE_NAMES, "getaddrinfo() asks which addresses this host has",
	  .calls = { "socket" }, SOCKET(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE) },
	{ CONFINE_NAMES, "the same; Landlock refuses TCP", .calls = { "bind" } },
	{ CONFINE_NAMES, "the same, and two questions at once",
	  .calls = { "sendto", "sendmmsg" }, IF(3, MSG_FASTOPEN, 0) },
	{ CONFINE_NAMES, "two answers", .calls = { "recvmmsg" } },
	{ CONFINE_NAMES, "libcurl asks in a thread", .calls = { "clone" },
	  IF(0, NAMESPACES | CLONE_THREAD, CLONE_THREAD) },
	{ CONFINE_NAMES, "a thread's beginning", .calls = { "set_robust_list", "rseq" } },
	{ CONFINE_NAMES, "its name", .calls = { "prctl" }, IF(0, INT, PR_SET_NAME) },

	/* files */
	{ CONFINE_READ, "read", .calls = { "open" }, IF(1, ACCESS_BITS, O_RDONLY) },
	{ CONFINE_READ, "read", .calls = { "openat" }, IF(2, ACCESS_BITS, O_RDONLY) },
	{ CONFINE_READ, "of a file; reading ahead",
	  .calls = { "stat", "lstat", "access", "faccessat", "faccessat2",
		     "fadvise64" } },
	{ CONFINE_READ, "links and folders of certificates; a relative path",
	  .calls = { "readlink", "readlinkat", "getdents64", "getcwd" } },
	{ CONFINE_COLLECT, "--out: a folder, to go into", .calls = { "openat" },
	  IF(2, ACCESS_BITS | O_PATH | O_DIRECTORY | O_NOFOLLOW,
	     O_PATH | O_DIRECTORY | O_NOFOLLOW) },
	{ CONFINE_COLLECT, "--out: one that is not there", .calls = { "mkdirat" } },
	{ CONFINE_CREATE | CONFINE_COLLECT, ":get and --out, which write over nothing",
	  .calls = { "openat" }, IF(2, ACCESS_BITS, O_WRONLY | O_CREAT | O_EXCL) },
	{ CONFINE_CREATE, ":get, which writes over nothing", .calls = { "open" },
	  IF(1, ACCESS_BITS, O_WRONLY | O_CREAT | O_EXCL) },
	{ CONFINE_KEEP, "gets its name when it is whole, and takes nobody's",
	  .calls = { "renameat2" }, IF(4, INT, RENAME_NOREPLACE) },
	{ CONFINE_KEEP, "the same on a file system that cannot rename so",
	  .calls = { "linkat" }, IF(4, INT, 0) },
	{ CONFINE_KEEP, "what could not be saved", .calls = { "unlinkat" },
	  IF(2, INT, 0) },
};

/* ENOSYS, an answer that a library knows how to live with */
static const struct row unknown[] = {
	{ ALL, "their flags lie in memory: libc then takes clone and openat",
	  .calls = { "clone3", "openat2" } },
};

/* nobody honest is here */
static const struct row deadly[] = {
	{ ALL, "execute a program", .calls = { "execve", "execveat" } },
	{ ALL, "look into another process, or change it",
	  .calls = { "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise",
		     "pidfd_getfd", "kcmp" } },
	{ ALL, "enter a namespace, change the tree of files",
	  .calls = { "unshare", "setns", "mount", "umount2", "pivot_root", "chroot",
		     "move_mount", "open_tree", "fsopen", "fsconfig", "fsmount", "fspick",
		     "mount_setattr" } },
	{ ALL, "have the kernel act on its own",
	  .calls = { "bpf", "perf_event_open", "io_uring_setup", "io_uring_enter",
		     "io_uring_register", "userfaultfd" } },
	{ ALL, "use keys that the kernel holds",
	  .calls = { "keyctl", "add_key", "request_key" } },
	{ ALL, "change or replace the kernel",
	  .calls = { "init_module", "finit_module", "delete_module", "kexec_load",
		     "kexec_file_load", "reboot" } },
	{ ALL, "administer the host",
	  .calls = { "swapon", "swapoff", "acct", "quotactl", "syslog", "sethostname",
		     "setdomainname", "settimeofday", "clock_settime", "vhangup" } },
	{ ALL, "change users, groups and capabilities",
	  .calls = { "setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid",
		     "setgroups", "capset" } },
	{ ALL, "reach I/O ports, segments, another ABI",
	  .calls = { "modify_ldt", "iopl", "ioperm", "personality" } },
	{ ALL, "open files without a path, watch all of them",
	  .calls = { "open_by_handle_at", "fanotify_init", "lookup_dcookie" } },
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

static int add_row(scmp_filter_ctx ctx, uint32_t action, const struct row *row)
{
	struct scmp_arg_cmp when[CONDITIONS_MAX];
	unsigned int n = 0;
	int r = 0;

	for (; n < CONDITIONS_MAX && row->when[n].mask; n++)
		when[n] = (struct scmp_arg_cmp){ row->when[n].arg, SCMP_CMP_MASKED_EQ,
						 row->when[n].mask, row->when[n].value };
	for (size_t i = 0; r == 0 && i < CALLS_MAX && row->calls[i]; i++)
		r = add(ctx, action, row->calls[i], n, when);
	for (size_t i = 0; r == 0 && i < OTHERS_MAX && row->others[i]; i++) {
		when[n - 1].datum_b = row->others[i];
		r = add(ctx, action, row->calls[0], n, when);
	}
	return r;
}

static int build(scmp_filter_ctx ctx, unsigned int needs)
{
	static const struct {
		uint32_t action;
		const struct row *rows;
		size_t count;
	} tables[] = {
		{ SCMP_ACT_ALLOW, allowed, COUNT(allowed) },
		{ SCMP_ACT_ERRNO(ENOSYS), unknown, COUNT(unknown) },
		{ SCMP_ACT_KILL_PROCESS, deadly, COUNT(deadly) },
	};
	int r = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);

	if (r == 0)
		r = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_TSYNC, 1);
	for (size_t i = 0; i < COUNT(tables); i++)
		for (size_t k = 0; r == 0 && k < tables[i].count; k++) {
			const struct row *row = &tables[i].rows[k];

			if (row->needs == ALL || (row->needs & needs))
				r = add_row(ctx, tables[i].action, row);
		}
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
