/* SPDX-License-Identifier: MIT */
/*
 * syscalls.c - what a caller may still do once it reads what a helper says: see call.h
 */
#include "init/filter.h"

const char filter_name[] = "filter_caller";

const struct filter_row filter_rows[] = {
	{ "read", ALWAYS, 0, 0, "the program's end" },
	{ "write", ALWAYS, 0, 0, "signals, from their handlers" },
	{ "rt_sigreturn", ALWAYS, 0, 0, "the same" },
	{ "restart_syscall", ALWAYS, 0, 0, "read after a stop and continue" },
	{ "exit", ALWAYS, 0, 0, "end as the program has" },
};

const size_t filter_row_count = COUNT(filter_rows);
