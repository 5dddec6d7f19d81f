/* SPDX-License-Identifier: MIT */
/*
 * syscalls.c - what stepjail-init may still do once it runs
 *
 * The few calls of its one loop. Knowingly excluded is everything else: it opens nothing,
 * maps nothing, makes no process and sends no signal.
 */
#include "init/filter.h"

const char filter_name[] = "filter_init";

const struct filter_row filter_rows[] = {
	{ "ppoll", ALWAYS, 0, 0, "wait for SIGCHLD, and for the launcher to be gone" },
	{ "poll", ALWAYS, 0, 0, "the same, on libc's choice" },
	{ "read", ALWAYS, 0, 0, "signalfd" },
	{ "sendmsg", ALWAYS, 0, 0, "frames to the launcher" },
	{ "wait4", ALWAYS, 0, 0, "reap, with the program's resource usage" },
	{ "kill", ARG_EQ, 1, 0,
	  "signal 0: ask whether any process is left; sends nothing" },
	{ "exit_group", ALWAYS, 0, 0, "end, and the PID namespace with it" },
	{ "exit", ALWAYS, 0, 0, "the same, on libc's choice" },
	{ "rt_sigreturn", ALWAYS, 0, 0, "the kernel's own return path" },
	{ "restart_syscall", ALWAYS, 0, 0, "poll after a stop and continue" },
};

const size_t filter_row_count = COUNT(filter_rows);
