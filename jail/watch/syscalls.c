/* SPDX-License-Identifier: MIT */
/*
 * syscalls.c - what a watcher may still do once it is confined
 *
 * What no row allows fails with EPERM. It does not kill: a libc that tries something, as
 * musl's stdio asks whether stdout is a terminal, goes on without, while a watcher that
 * dies takes the verdict and the report with it. An intruder gains nothing by trying on.
 *
 * Knowingly excluded: every call that takes a path, open and its kin, so that no Landlock
 * is needed for it; clone and fork, exec; kill, tkill, tgkill, pidfd_send_signal,
 * pidfd_open, pidfd_getfd, ptrace, process_vm_readv and its kin; socket, connect and
 * bind; prctl, setresuid and its kin; fcntl but for one command, since F_SETOWN is a way
 * to signal and F_OFD_SETLK takes what others hold; ioctl but by request; executable
 * memory.
 */
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <linux/seccomp.h>

#include "init/filter.h"

const char filter_name[] = "filter_watcher";

const struct filter_row filter_rows[] = {
	/* fds that it has */
	{ "read", ALWAYS, 0, 0, "captured output, signalfd, frames of init" },
	{ "readv", ALWAYS, 0, 0, "the same, on libc's choice" },
	{ "pread64", ALWAYS, 0, 0, "files of the cgroup leaf, /proc/self/status" },
	{ "write", ALWAYS, 0, 0, "report, spill files, delivered output, cgroup.kill" },
	{ "writev", ALWAYS, 0, 0, "the same, of stdio" },
	{ "lseek", ALWAYS, 0, 0, "stdio, at exit" },
	{ "ftruncate", ALWAYS, 0, 0, "give back what was reserved behind the report" },
	{ "fstat", ALWAYS, 0, 0, "how long is the report?" },
	{ "fstatfs", ALWAYS, 0, 0, "is a tmpfs of the jail full?" },
	{ "close", ALWAYS, 0, 0, "what it has" },
	{ "fcntl", ARG_EQ, 1, F_GETFL, "does the report append?" },
	{ "recvmsg", ALWAYS, 0, 0, "answers of the keeper, frames of init" },
	{ "recvfrom", ALWAYS, 0, 0, "the same without fds" },
	{ "sendmsg", ALWAYS, 0, 0, "GO, requests to the keeper" },
	{ "sendto", ALWAYS, 0, 0, "the same without fds" },
	{ "shutdown", ALWAYS, 0, 0, "end of file for the keeper" },
	{ "ioctl", ARG_EQ, 1, SECCOMP_IOCTL_NOTIF_RECV, "take a refused call" },
	{ "ioctl", ARG_EQ, 1, SECCOMP_IOCTL_NOTIF_SEND, "answer it" },
	{ "ioctl", ARG_EQ, 1, SECCOMP_IOCTL_NOTIF_ID_VALID, "is it still held?" },
	{ "ioctl", ARG_EQ, 1, FIONREAD, "how much is left in a pipe of the jail's" },

	/* waits */
	{ "poll", ALWAYS, 0, 0, "every wait" },
	{ "ppoll", ALWAYS, 0, 0, "the same, on libc's choice" },
	{ "wait4", ALWAYS, 0, 0, "the ends of init and of the keeper" },
	{ "clock_gettime", ALWAYS, 0, 0, "deadlines, where the vDSO has no clock" },

	/* memory */
	{ "mmap", ARG_CLEAR, 2, PROT_EXEC, "memory, never code" },
	{ "mprotect", ARG_CLEAR, 2, PROT_EXEC, "the same" },
	{ "munmap", ALWAYS, 0, 0, "memory" },
	{ "mremap", ALWAYS, 0, 0, "realloc" },
	{ "madvise", ALWAYS, 0, 0, "memory that is given back" },
	{ "brk", ALWAYS, 0, 0, "malloc" },

	/* this process alone */
	{ "rt_sigprocmask", ALWAYS, 0, 0,
	  "signals end it again while output is delivered" },
	{ "rt_sigreturn", ALWAYS, 0, 0, "the kernel's own return path" },
	{ "restart_syscall", ALWAYS, 0, 0, "waits after a stop" },
	{ "futex", ALWAYS, 0, 0, "locks of stdio" },
	{ "getpid", ALWAYS, 0, 0, "itself" },
	{ "sched_getaffinity", ALWAYS, 0, 0, "how many CPUs may use up a limit" },
	{ "exit_group", ALWAYS, 0, 0, "its end" },
	{ "exit", ALWAYS, 0, 0, "the same, on libc's choice" },
};

const size_t filter_row_count = COUNT(filter_rows);
