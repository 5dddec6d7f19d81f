/* SPDX-License-Identifier: MIT */
/*
 * own_syscalls.h - what every confined process that has libc's heap and stdio may do with
 * itself
 *
 * The first rows of their filters: those of watcher and copier, of the supervisor, and of
 * a jail's proxy. None of them reaches beyond the process; executable memory is excluded.
 */
/* a part of an array */
/* clang-format off */

	{ "read", ALWAYS, 0, 0, "/proc/self/status; run: captured output, signalfd, frames of init; serve: frames, output of steps, files of procfs and of leaves; egress: sockets, resolv.conf, certificates" },
	{ "fcntl", ARG_EQ, 1, F_GETFL, "run: does the report append? serve: fdopen; egress: O_NONBLOCK" },
	{ "close", ALWAYS, 0, 0, "what it has" },
	{ "clock_gettime", ALWAYS, 0, 0, "deadlines, where the vDSO has no clock; serve: CPU time of processes" },
	{ "mmap", ARG_CLEAR, 2, PROT_EXEC, "memory, never code" },
	{ "mprotect", ARG_CLEAR, 2, PROT_EXEC, "the same" },
	{ "munmap", ALWAYS, 0, 0, "memory" },
	{ "mremap", ALWAYS, 0, 0, "realloc" },
	{ "madvise", ALWAYS, 0, 0, "memory that is given back" },
	{ "brk", ALWAYS, 0, 0, "malloc" },
	{ "restart_syscall", ALWAYS, 0, 0, "waits after a stop" },
	{ "futex", ALWAYS, 0, 0, "locks of libc" },
	{ "exit_group", ALWAYS, 0, 0, "its end" },
