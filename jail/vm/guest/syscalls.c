/* SPDX-License-Identifier: MIT */
/*
 * syscalls.c - the calls of stepjail-vm-relay, once it reads what a guest says
 */
#include "init/filter.h"

const char filter_name[] = "filter_relay";

const struct filter_row filter_rows[] = {
	{ "read", ALWAYS, 0, 0, "streams, console, signals" },
	{ "write", ALWAYS, 0, 0, "streams" },
	{ "writev", ALWAYS, 0, 0, "a line on stderr" },
	{ "sendto", ALWAYS, 0, 0, "a stream that is a socket, without waiting" },
	{ "shutdown", ALWAYS, 0, 0,
	  "half of serve's socket, when the guest says no more" },
	{ "close", ALWAYS, 0, 0, "a stream that has ended" },
	{ "poll", ALWAYS, 0, 0, "waits" },
	{ "ppoll", ALWAYS, 0, 0, "waits" },
	{ "clock_gettime", ALWAYS, 0, 0, "deadlines, where there is no vdso" },
	{ "restart_syscall", ALWAYS, 0, 0, "a wait that was stopped and continued" },
	{ "rt_sigreturn", ALWAYS, 0, 0, "the kernel's own return path" },
	{ "exit", ALWAYS, 0, 0, "ends" },
	{ "exit_group", ALWAYS, 0, 0, "ends" },
};
const size_t filter_row_count = COUNT(filter_rows);
