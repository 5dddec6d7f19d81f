/* SPDX-License-Identifier: MIT */
/*
 * syscalls.c - what the supervisor of `serve` may still do once it is confined
 *
 * What no row allows fails with EPERM, as in jail/watch/syscalls.c. A path can be opened,
 * but only from the root directory, and that is a procfs that is read-only and shows the
 * processes of jails alone; so no Landlock is needed for it.
 *
 * Knowingly excluded: clone and fork, exec; kill, tkill, tgkill, pidfd_send_signal,
 * pidfd_getfd, ptrace, process_vm_readv and its kin: the spawner signals; socket, connect
 * and bind: socketpair makes no name; prctl, setresuid and its kin; F_SETOWN, F_SETLEASE
 * and what else of fcntl is not named; ioctl but by request; executable memory.
 */
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <linux/seccomp.h>

#include "init/filter.h"
#include "jail/serve/channel.h"
#include "jail/serve/supervisor.h"

const char filter_name[] = "filter_supervisor";

const struct filter_row filter_rows[] = {
	/* fds that it has */
	{ "read", ALWAYS, 0, 0,
	  "frames, output of steps, files of procfs and of leaves" },
	{ "readv", ALWAYS, 0, 0, "the same, on libc's choice" },
	{ "pread64", ALWAYS, 0, 0, "facts of a jail, /proc/self/status, sources" },
	{ "write", ALWAYS, 0, 0, "stdin of steps, its last words" },
	{ "writev", ALWAYS, 0, 0, "the same, of stdio" },
	{ "pwrite64", ALWAYS, 0, 0, "sources and files, into memfds" },
	{ "lseek", ALWAYS, 0, 0, "files of a leaf, again; stdio" },
	{ "fchmod", ALWAYS, 0, 0, "a pipe's end is for one direction" },
	{ "fstat", ALWAYS, 0, 0, "how long is a memfd?" },
	{ "fstatfs", ALWAYS, 0, 0, "is a tmpfs of a jail full?" },
	{ "close", ALWAYS, 0, 0, "what it has" },
	{ "fcntl", ARG_EQ, 1, F_GETFL, "fdopen" },
	{ "fcntl", ARG_EQ, 1, F_SETFL, "pipes do not block" },
	{ "fcntl", ARG_EQ, 1, F_SETFD, "close-on-exec, of stdio" },
	{ "fcntl", ARG_EQ, 1, F_DUPFD_CLOEXEC, "fds of a request that waits for memory" },
	{ "fcntl", ARG_EQ, 1, F_ADD_SEALS, "a source does not change any more" },
	{ "recvmsg", ALWAYS, 0, 0, "packets of steps, answers of the spawner" },
	{ "recvfrom", ALWAYS, 0, 0, "the same without fds" },
	{ "sendmsg", ALWAYS, 0, 0, "requests to states and to the spawner" },
	{ "sendto", ALWAYS, 0, 0, "frames for the client" },
	{ "shutdown", ALWAYS, 0, 0, "no more packets of a step" },
	{ "setsockopt", ARG_EQ, 2, SO_PASSCRED, "a channel tells who sends" },
	{ "setsockopt", ARG_EQ, 2, SO_PASSRIGHTS, "a channel takes no fds" },
	{ "ioctl", ARG_EQ, 1, SECCOMP_IOCTL_NOTIF_RECV, "take a refused call" },
	{ "ioctl", ARG_EQ, 1, SECCOMP_IOCTL_NOTIF_SEND, "answer it" },
	{ "ioctl", ARG_EQ, 1, SECCOMP_IOCTL_NOTIF_ID_VALID, "is it still held?" },
	{ "ioctl", ARG_EQ, 1, FIONREAD, "how much is left in a pipe of a step's" },

	/* fds that it makes */
	{ "socketpair", ARG_EQ, 0, AF_UNIX, "a channel to a step" },
	{ "pipe2", ALWAYS, 0, 0, "stdin and output of a step" },
	{ "memfd_create", ALWAYS, 0, 0, "a source, a file" },
	{ "pidfd_open", ALWAYS, 0, 0, "whom a signal is asked for" },
	{ "openat", ARG_EQ, 0, SUPERVISOR_ROOT, "files of procfs" },
	{ "newfstatat", ARG_EQ, 0, SUPERVISOR_ROOT, "how many threads has a process?" },
	{ "faccessat", ARG_EQ, 0, SUPERVISOR_ROOT, "is a process there still?" },
	{ "getdents64", ALWAYS, 0, 0, "threads of a process" },

	/* waits */
	{ "poll", ALWAYS, 0, 0, "has a process ended?" },
	{ "ppoll", ALWAYS, 0, 0, "the same, on libc's choice" },
	{ "epoll_create1", ALWAYS, 0, 0, "the event loop" },
	{ "epoll_ctl", ALWAYS, 0, 0, "the event loop" },
	{ "epoll_pwait", ALWAYS, 0, 0, "the same, on libc's choice" },
	{ "clock_gettime", ALWAYS, 0, 0, "deadlines; CPU time of processes" },
	{ "clock_getres", ALWAYS, 0, 0, "has a process a CPU clock?" },

	/* memory */
	{ "mmap", ARG_CLEAR, 2, PROT_EXEC, "memory, never code" },
	{ "mprotect", ARG_CLEAR, 2, PROT_EXEC, "the same" },
	{ "munmap", ALWAYS, 0, 0, "memory" },
	{ "mremap", ALWAYS, 0, 0, "realloc" },
	{ "madvise", ALWAYS, 0, 0, "memory that is given back" },
	{ "brk", ALWAYS, 0, 0, "malloc" },

	/* this process alone */
	{ "restart_syscall", ALWAYS, 0, 0, "waits after a stop" },
	{ "futex", ALWAYS, 0, 0, "locks of stdio" },
	{ "sched_getaffinity", ALWAYS, 0, 0, "how many CPUs may use up a limit" },
	{ "exit_group", ALWAYS, 0, 0, "its end" },
};

const size_t filter_row_count = COUNT(filter_rows);
