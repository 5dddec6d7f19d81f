/* SPDX-License-Identifier: MIT */
/*
 * confined_syscalls.h - what confined processes may still do: watcher and copier of
 * `run`, and the supervisor of `serve`
 *
 * The first rows of their filters; with MEASURER, those that a measurer of `serve` has,
 * too. The two syscalls.c include them in their tables, and add what one of the two
 * processes alone needs.
 *
 * What no row allows fails with EPERM. It does not kill: a libc that tries something, as
 * musl's stdio asks whether stdout is a terminal, goes on without, while a process that
 * dies takes verdicts and reports with it. An intruder gains nothing by trying on.
 *
 * Knowingly excluded from all: clone and fork, exec; kill, tkill, tgkill,
 * pidfd_send_signal, pidfd_getfd, ptrace, process_vm_readv and its kin; socket, connect
 * and bind; prctl, setresuid and its kin; fcntl but for the commands that are named, as
 * F_SETOWN is a way to signal and F_OFD_SETLK takes what others hold; ioctl but by
 * request; executable memory.
 */
/* a part of an array */
/* clang-format off */

#include "init/own_syscalls.h"

	/* fds that it has */
	{ "readv", ALWAYS, 0, 0, "read, on libc's choice" },
	{ "write", ALWAYS, 0, 0, "run: report, delivered output, cgroup.kill; serve: stdin of steps, its last words" },
	{ "fstat", ALWAYS, 0, 0, "how long is the report (run), a memfd (serve)?" },
	{ "sched_getaffinity", ALWAYS, 0, 0, "how many CPUs may use up a limit?" },
#ifndef MEASURER

	/* on fds that it has */
	{ "pread64", ALWAYS, 0, 0, "run: files of the cgroup leaf; serve: facts of a jail, sources" },
	{ "writev", ALWAYS, 0, 0, "the same, of stdio" },
	{ "lseek", ALWAYS, 0, 0, "stdio, at exit; serve: files of a leaf, again" },
	{ "fstatfs", ALWAYS, 0, 0, "is a tmpfs of a jail full?" },
	{ "recvmsg", ALWAYS, 0, 0, "run: answers of the keeper, frames of init; serve: answers of the spawner, packets of steps" },
	{ "recvfrom", ALWAYS, 0, 0, "the same without fds" },
	{ "sendmsg", ALWAYS, 0, 0, "run: GO, requests to the keeper; serve: requests to states and to the spawner" },
	{ "sendto", ALWAYS, 0, 0, "the same without fds; serve: frames for the client" },
	{ "shutdown", ALWAYS, 0, 0, "run: end of file for the keeper; serve: no more packets of a step" },
	{ "ioctl", ARG_EQ, 1, SECCOMP_IOCTL_NOTIF_RECV, "take a refused call" },
	{ "ioctl", ARG_EQ, 1, SECCOMP_IOCTL_NOTIF_SEND, "answer it" },
	{ "ioctl", ARG_EQ, 1, SECCOMP_IOCTL_NOTIF_ID_VALID, "is it still held?" },
	{ "ioctl", ARG_EQ, 1, FIONREAD, "how much is left in a pipe of a jail's?" },

	/* waits */
	{ "poll", ALWAYS, 0, 0, "run: every wait; serve: has a process ended?" },
	{ "ppoll", ALWAYS, 0, 0, "the same, on libc's choice" },
#endif
