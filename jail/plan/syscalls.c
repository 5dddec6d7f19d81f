/* SPDX-License-Identifier: MIT */
/*
 * syscalls.c - the system calls that a program in a jail may make, and why
 *
 * An allow list: a call without a row fails with EPERM. jail/plan/refused.c lists the
 * calls that are excluded on purpose, those that are violations, and those that
 * --lock-code takes away. clone3 fails with ENOSYS: its flags lie in memory, where a
 * filter cannot see them, and libc then calls clone.
 * Rows are grouped by what they are for. See syscalls(2).
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>

#include "init/filter.h"

/* every namespace flag of clone(2); a time namespace cannot be asked for by clone */
#define NEW_NAMESPACES                                                                   \
	(CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |      \
	 CLONE_NEWNET | CLONE_NEWCGROUP)

/* For an ordinary user the program has the caller's own uid. Through an inherited stdout
 * or a writable bind it could leave a set-id file of that user on the host, for others to
 * run. So no call may carry a set-id bit. Open flags that create a file make the kernel
 * read a mode. */
#define SET_ID (S_ISUID | S_ISGID)
#define CREATING (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))

/* RWF_NOWAIT tells whether a page is in memory, RWF_DONTCACHE (Linux 6.14) drops it */
#define TELLS_OF_CACHE (0x08 | 0x80)

#define ALLOW(name, why)                                                                 \
	{                                                                                \
		name, ALWAYS, 0, 0, why                                                  \
	}

const char filter_name[] = "filter_program";

const struct filter_row filter_rows[] = {
	/* the process itself */
	ALLOW("execve", "start the program, and programs from it"),
	ALLOW("execveat", "the same by fd: nothing that execve does not do"),
	ALLOW("exit", "a thread ends"),
	ALLOW("exit_group", "the program ends"),
	ALLOW("fork", "subprocesses; counted by --pids"),
	ALLOW("vfork", "subprocesses; counted by --pids"),
	{ "clone", ARG_CLEAR, 0, NEW_NAMESPACES, "processes and threads, no namespaces" },
	{ "clone3", NEVER, 0, ENOSYS, "flags lie in memory: make libc use clone" },
	ALLOW("wait4", "wait for own children"),
	ALLOW("waitid", "wait for own children"),
	ALLOW("set_tid_address", "libc's thread start"),
	ALLOW("set_robust_list", "libc's mutexes"),
	ALLOW("get_robust_list", "libc's mutexes"),
	ALLOW("rseq", "libc's per-CPU data"),
	ALLOW("arch_prctl", "libc's thread pointer on x86-64"),
	ALLOW("getpid", "reads own state"),
	ALLOW("gettid", "reads own state"),
	ALLOW("getppid", "reads own state"),
	ALLOW("getpgid", "reads state within the PID namespace"),
	ALLOW("getpgrp", "reads own state"),
	ALLOW("setpgid", "job control among own processes"),
	ALLOW("getsid", "reads state within the PID namespace"),
	ALLOW("setsid", "start a session of its own inside the jail"),
	ALLOW("getuid", "reads own state"),
	ALLOW("geteuid", "reads own state"),
	ALLOW("getgid", "reads own state"),
	ALLOW("getegid", "reads own state"),
	ALLOW("getresuid", "reads own state"),
	ALLOW("getresgid", "reads own state"),
	ALLOW("getgroups", "reads own state"),
	ALLOW("capget", "reads own state: all empty"),
	ALLOW("getrlimit", "reads own limits"),
	/* RLIMIT_CORE may not be changed: see jail/walls/rlimit.c */
	{ "setrlimit", OWN_LIMIT, 0, 0,
	  "lowers own limits; hard limits cannot be raised" },
	{ "prlimit64", OWN_LIMIT, 1, 0,
	  "the same, of itself alone: init may share its uid" },
	ALLOW("getrusage", "reads own usage"),
	ALLOW("times", "reads own usage"),
	ALLOW("getpriority", "reads own priority"),
	/* init may have the same uid: PRIO_USER would change its priority, too */
	{ "setpriority", NOT_INIT, 1, 0,
	  "lowers own priority; raising needs CAP_SYS_NICE" },
	ALLOW("umask", "own file creation mask"),
	{ "personality", NONE_OR_ALL, 0, 0,
	  "set the execution domain that is already set; read it" },
	{ "prctl", ARG_EQ, 0, PR_SET_NAME, "thread names" },
	{ "prctl", ARG_EQ, 0, PR_GET_NAME, "thread names" },
	{ "prctl", ARG_EQ, 0, PR_SET_PDEATHSIG, "end with the parent" },
	{ "prctl", ARG_EQ, 0, PR_GET_PDEATHSIG, "reads own state" },
	{ "prctl", ARG_EQ, 0, PR_GET_DUMPABLE, "reads own state" },
	{ "prctl", ARG_EQ, 0, PR_SET_DUMPABLE, "hide itself from its own children" },
	{ "prctl", ARG_EQ, 0, PR_SET_CHILD_SUBREAPER, "reap own orphans" },
	{ "prctl", ARG_EQ, 0, PR_GET_CHILD_SUBREAPER, "reads own state" },
	{ "prctl", ARG_EQ, 0, PR_SET_NO_NEW_PRIVS, "is set already" },
	{ "prctl", ARG_EQ, 0, PR_GET_NO_NEW_PRIVS, "reads own state" },
	{ "prctl", ARG_EQ, 0, PR_GET_SECCOMP, "reads own state" },
	{ "prctl", ARG_EQ, 0, PR_CAPBSET_READ, "reads own state: all empty" },
	{ "prctl", ARG_EQ, 0, PR_GET_KEEPCAPS, "reads own state" },
	{ "prctl", ARG_EQ, 0, PR_GET_SECUREBITS, "reads own state" },
	{ "prctl", ARG_EQ, 0, PR_GET_TIMERSLACK, "reads own state" },
	{ "prctl", ARG_EQ, 0, 0x53564d41 /* PR_SET_VMA */, "libc names its heaps" },
	/* time */
	ALLOW("clock_gettime", "read clocks, where the vDSO cannot"),
	ALLOW("clock_getres", "read clocks"),
	ALLOW("clock_nanosleep", "sleep"),
	ALLOW("nanosleep", "sleep"),
	ALLOW("gettimeofday", "read clocks"),
	ALLOW("time", "read clocks"),
	ALLOW("alarm", "own timers"),
	ALLOW("getitimer", "own timers"),
	ALLOW("setitimer", "own timers"),
	ALLOW("timer_create", "own timers"),
	ALLOW("timer_settime", "own timers"),
	ALLOW("timer_gettime", "own timers"),
	ALLOW("timer_getoverrun", "own timers"),
	ALLOW("timer_delete", "own timers"),
	ALLOW("timerfd_create", "own timers as fds"),
	ALLOW("timerfd_settime", "own timers as fds"),
	ALLOW("timerfd_gettime", "own timers as fds"),
	/* memory */
	ALLOW("brk", "heap; counted by --memory"),
	{ "mmap", ARG_CLEAR, 3, MAP_HUGETLB, "heap and files; counted by --memory" },
	ALLOW("munmap", "give memory back"),
	ALLOW("mremap", "resize a mapping"),
	ALLOW("mprotect", "stack guards"),
	/* All advice but MADV_MERGEABLE (12), MADV_COLD (20) and MADV_PAGEOUT (21). After
	   the first, the time of a write tells whether the host has an equal page. After
	   the others, the time of a read tells whether another jail has read the page. */
	{ "madvise", ARG_CLEAR, 2, 4, "give memory back" },
	{ "madvise", ARG_CLEAR, 2, 8 | 16, "give memory back" },
	{ "madvise", ARG_EQ, 2, MADV_HUGEPAGE, "huge pages" },
	{ "madvise", ARG_EQ, 2, MADV_NOHUGEPAGE, "huge pages" },
	{ "madvise", ARG_EQ, 2, 22 /* MADV_POPULATE_READ */, "fault pages in" },
	{ "madvise", ARG_EQ, 2, 23 /* MADV_POPULATE_WRITE */, "fault pages in" },
	ALLOW("msync", "shared file mappings"),
	ALLOW("mlock", "bounded by RLIMIT_MEMLOCK"),
	ALLOW("mlock2", "bounded by RLIMIT_MEMLOCK"),
	ALLOW("munlock", "undo mlock"),
	ALLOW("munlockall", "undo mlock"),
	ALLOW("membarrier", "threads' memory order"),
	{ "memfd_create", ARG_CLEAR, 1, 0x10 /* MFD_EXEC */ | MFD_HUGETLB,
	  "anonymous files; counted by --memory" },
	ALLOW("pkey_alloc", "memory protection keys of its own pages"),
	ALLOW("pkey_free", "memory protection keys of its own pages"),
	ALLOW("pkey_mprotect", "memory protection keys of its own pages"),
	ALLOW("get_mempolicy", "reads own state"),
	/* threads, scheduling, randomness, what machine this is */
	ALLOW("futex", "locks"),
	ALLOW("futex_waitv", "locks"),
	ALLOW("sched_yield", "scheduling of its own threads"),
	ALLOW("sched_getaffinity", "how many CPUs there are"),
	{ "sched_setaffinity", NOT_INIT, 0, 0, "own threads on the CPUs it has" },
	ALLOW("sched_getparam", "reads own state"),
	ALLOW("sched_getscheduler", "reads own state"),
	ALLOW("sched_getattr", "reads own state"),
	ALLOW("sched_get_priority_max", "constants"),
	ALLOW("sched_get_priority_min", "constants"),
	ALLOW("sched_rr_get_interval", "reads own state"),
	ALLOW("getcpu", "which CPU it runs on"),
	ALLOW("getrandom", "random bytes"),
	ALLOW("uname", "the UTS namespace's names and the kernel's version"),
	ALLOW("sysinfo", "the machine's memory and load, as /proc/meminfo would say"),
	/* signals, within the PID namespace */
	ALLOW("rt_sigaction", "own handlers"),
	ALLOW("rt_sigprocmask", "own mask"),
	ALLOW("rt_sigreturn", "the kernel's own return path"),
	ALLOW("rt_sigpending", "own signals"),
	ALLOW("rt_sigsuspend", "own signals"),
	ALLOW("rt_sigtimedwait", "own signals"),
	ALLOW("rt_sigqueueinfo", "processes of its own jail"),
	ALLOW("rt_tgsigqueueinfo", "processes of its own jail"),
	ALLOW("sigaltstack", "a stack for handlers"),
	ALLOW("signalfd", "own signals as fds"),
	ALLOW("signalfd4", "own signals as fds"),
	ALLOW("kill", "processes of its own jail"),
	ALLOW("tkill", "threads of its own jail"),
	ALLOW("tgkill", "threads of its own jail"),
	ALLOW("pause", "wait for a signal"),
	ALLOW("pidfd_open", "processes of its own jail"),
	ALLOW("pidfd_send_signal", "processes of its own jail"),
	ALLOW("restart_syscall", "a sleep after a stop and continue"),
	/* fds */
	ALLOW("read", "any fd it has"),
	ALLOW("readv", "any fd it has"),
	ALLOW("pread64", "any fd it has"),
	ALLOW("preadv", "any fd it has"),
	{ "preadv2", ARG_CLEAR, 5, TELLS_OF_CACHE, "any fd it has" },
	ALLOW("write", "any fd it has"),
	ALLOW("writev", "any fd it has"),
	ALLOW("pwrite64", "any fd it has"),
	ALLOW("pwritev", "any fd it has"),
	{ "pwritev2", ARG_CLEAR, 5, TELLS_OF_CACHE, "any fd it has" },
	ALLOW("sendfile", "copy between fds it has"),
	ALLOW("splice", "copy between fds it has"),
	ALLOW("copy_file_range", "copy between fds it has"),
	ALLOW("lseek", "any fd it has"),
	ALLOW("close", "any fd it has"),
	ALLOW("close_range", "any fd it has"),
	ALLOW("dup", "any fd it has"),
	ALLOW("dup2", "any fd it has"),
	ALLOW("dup3", "any fd it has"),
	/* this bit is F_OFD_GETLK's, F_OFD_SETLK's and F_OFD_SETLKW's alone: each list of
	 * the host has such a lock, without its owner, and --file-locks cannot count
	 * it */
	{ "fcntl", ARG_CLEAR, 1, 0x20, "flags and locks of fds it has" },
	ALLOW("flock", "locks of fds it has"),
	ALLOW("fsync", "writes of its own"),
	ALLOW("fdatasync", "writes of its own"),
	ALLOW("sync_file_range", "writes of its own"),
	ALLOW("readahead", "files it has open"),
	/* all advice but POSIX_FADV_DONTNEED (4) and POSIX_FADV_NOREUSE (5) */
	{ "fadvise64", ARG_CLEAR, 3, 4, "files it has open" },
	ALLOW("pipe", "own pipes"),
	ALLOW("pipe2", "own pipes"),
	ALLOW("eventfd", "own counters"),
	ALLOW("eventfd2", "own counters"),
	ALLOW("select", "wait for fds"),
	ALLOW("pselect6", "wait for fds"),
	ALLOW("poll", "wait for fds"),
	ALLOW("ppoll", "wait for fds"),
	ALLOW("epoll_create", "wait for fds"),
	ALLOW("epoll_create1", "wait for fds"),
	ALLOW("epoll_ctl", "wait for fds"),
	ALLOW("epoll_ctl_old", "wait for fds"),
	ALLOW("epoll_wait", "wait for fds"),
	ALLOW("epoll_pwait", "wait for fds"),
	ALLOW("epoll_pwait2", "wait for fds"),
	ALLOW("inotify_add_watch", "of no use unless a policy allows inotify_init1"),
	ALLOW("inotify_rm_watch", "of no use unless a policy allows inotify_init1"),
	/* ioctl: these requests only; TIOCSTI and TIOCLINUX would type into the caller's
	   terminal */
	{ "ioctl", ARG_EQ, 1, FIONREAD, "how many bytes wait" },
	{ "ioctl", ARG_EQ, 1, FIONBIO, "non-blocking flag" },
	{ "ioctl", ARG_EQ, 1, FIOCLEX, "close-on-exec flag" },
	{ "ioctl", ARG_EQ, 1, FIONCLEX, "close-on-exec flag" },
	{ "ioctl", ARG_EQ, 1, TCGETS, "isatty, terminal modes" },
	{ "ioctl", ARG_EQ, 1, TCSETS, "terminal modes, as getpass needs" },
	{ "ioctl", ARG_EQ, 1, TCSETSW, "terminal modes" },
	{ "ioctl", ARG_EQ, 1, TCSETSF, "terminal modes" },
	{ "ioctl", ARG_EQ, 1, TIOCGWINSZ, "terminal size" },
	{ "ioctl", ARG_EQ, 1, TIOCGPGRP, "job control; no terminal controls the jail" },
	{ "ioctl", ARG_EQ, 1, TIOCOUTQ, "how many bytes are unsent" },
	/* files */
	{ "open", ARG_CLEAR, 1, CREATING, "files of the jail that are there" },
	{ "open", ARG_CLEAR, 2, SET_ID, "files of the jail that it makes" },
	{ "openat", ARG_CLEAR, 2, CREATING, "files of the jail that are there" },
	{ "openat", ARG_CLEAR, 3, SET_ID, "files of the jail that it makes" },
	{ "openat2", NEVER, 0, ENOSYS, "its mode lies in memory: make libc use openat" },
	{ "creat", ARG_CLEAR, 1, SET_ID, "files of the jail" },
	ALLOW("stat", "files of the jail"),
	ALLOW("fstat", "files of the jail"),
	ALLOW("lstat", "files of the jail"),
	ALLOW("newfstatat", "files of the jail"),
	ALLOW("statx", "files of the jail"),
	ALLOW("statfs", "size of the jail's file systems"),
	ALLOW("fstatfs", "size of the jail's file systems"),
	ALLOW("ustat", "size of the jail's file systems"),
	ALLOW("access", "files of the jail"),
	ALLOW("faccessat", "files of the jail"),
	ALLOW("faccessat2", "files of the jail"),
	ALLOW("getcwd", "reads own state"),
	ALLOW("chdir", "folders of the jail"),
	ALLOW("fchdir", "folders of the jail"),
	ALLOW("getdents", "folders of the jail"),
	ALLOW("getdents64", "folders of the jail"),
	ALLOW("readlink", "files of the jail"),
	ALLOW("readlinkat", "files of the jail"),
	{ "mkdir", ARG_CLEAR, 1, SET_ID, "files of the jail" },
	{ "mkdirat", ARG_CLEAR, 2, SET_ID, "files of the jail" },
	{ "mknod", ARG_CLEAR, 1, SET_ID,
	  "FIFOs and plain files; devices need CAP_MKNOD" },
	{ "mknodat", ARG_CLEAR, 2, SET_ID,
	  "FIFOs and plain files; devices need CAP_MKNOD" },
	ALLOW("rmdir", "files of the jail"),
	ALLOW("unlink", "files of the jail"),
	ALLOW("unlinkat", "files of the jail"),
	ALLOW("rename", "files of the jail"),
	ALLOW("renameat", "files of the jail"),
	ALLOW("renameat2", "files of the jail"),
	ALLOW("link", "files of the jail"),
	ALLOW("linkat", "files of the jail"),
	ALLOW("symlink", "files of the jail; the host follows none of them"),
	ALLOW("symlinkat", "files of the jail; the host follows none of them"),
	ALLOW("truncate", "files of the jail"),
	ALLOW("ftruncate", "files of the jail"),
	ALLOW("fallocate", "files of the jail; bounded by the tmpfs caps"),
	{ "chmod", ARG_CLEAR, 1, SET_ID, "own files" },
	{ "fchmod", ARG_CLEAR, 1, SET_ID, "own files" },
	{ "fchmodat", ARG_CLEAR, 2, SET_ID, "own files" },
	ALLOW("chown", "own files, to its own ids"),
	ALLOW("fchown", "own files, to its own ids"),
	ALLOW("lchown", "own files, to its own ids"),
	ALLOW("fchownat", "own files, to its own ids"),
	ALLOW("utime", "own files' times"),
	ALLOW("utimes", "own files' times"),
	ALLOW("utimensat", "own files' times"),
	ALLOW("futimesat", "own files' times"),
	ALLOW("getxattr", "shutil.copystat"),
	ALLOW("lgetxattr", "shutil.copystat"),
	ALLOW("fgetxattr", "shutil.copystat"),
	ALLOW("listxattr", "shutil.copystat"),
	ALLOW("llistxattr", "shutil.copystat"),
	ALLOW("flistxattr", "shutil.copystat"),
	ALLOW("setxattr", "shutil.copystat, own files"),
	ALLOW("lsetxattr", "shutil.copystat, own files"),
	ALLOW("fsetxattr", "shutil.copystat, own files"),
	ALLOW("removexattr", "own files"),
	ALLOW("lremovexattr", "own files"),
	ALLOW("fremovexattr", "own files"),
	/* sockets: families that an empty network namespace makes harmless */
	{ "socket", ARG_EQ, 0, AF_UNIX, "between own processes" },
	{ "socket", IP_SOCKET, 0, 0, "reaches nothing, or loopback" },
	{ "socketpair", ARG_EQ, 0, AF_UNIX, "between own processes" },
	ALLOW("bind", "own sockets"),
	ALLOW("listen", "own sockets"),
	ALLOW("accept", "own sockets"),
	ALLOW("accept4", "own sockets"),
	ALLOW("connect", "own sockets"),
	ALLOW("shutdown", "own sockets"),
	ALLOW("getsockname", "own sockets"),
	ALLOW("getpeername", "own sockets"),
	ALLOW("getsockopt", "own sockets"),
	ALLOW("setsockopt", "own sockets"),
	ALLOW("sendto", "own sockets"),
	ALLOW("sendmsg", "own sockets"),
	ALLOW("sendmmsg", "own sockets"),
	ALLOW("recvfrom", "own sockets"),
	ALLOW("recvmsg", "own sockets"),
	ALLOW("recvmmsg", "own sockets"),
};

const size_t filter_row_count = COUNT(filter_rows);
