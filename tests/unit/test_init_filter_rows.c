/* SPDX-License-Identifier: MIT */
/*
 * test_init_filter_rows.c - the two allow lists as people read them
 *
 * Both tables define the same names, so the Makefile compiles them for these tests with
 * -Dfilter_rows=jail_filter_rows and so on.
 */
#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/ioctl.h>

#include <linux/kcmp.h>
#include <linux/sched.h>
#include <seccomp.h>

#include "init/filter.h"
#include "tests/unit/suites.h"

extern const struct filter_row jail_filter_rows[], init_filter_rows[],
	egress_filter_rows[], watcher_filter_rows[], supervisor_filter_rows[],
	measurer_filter_rows[], copier_filter_rows[];
extern const size_t jail_filter_row_count, init_filter_row_count, egress_filter_row_count,
	watcher_filter_row_count, supervisor_filter_row_count, measurer_filter_row_count,
	copier_filter_row_count;
extern const char jail_filter_name[], init_filter_name[], watcher_filter_name[],
	egress_filter_name[], supervisor_filter_name[], measurer_filter_name[],
	copier_filter_name[];

static const struct {
	const struct filter_row *rows;
	const size_t *count;
	const char *name, *want_name;
} tables[] = {
	{ jail_filter_rows, &jail_filter_row_count, jail_filter_name, "filter_program" },
	{ init_filter_rows, &init_filter_row_count, init_filter_name, "filter_init" },
	{ egress_filter_rows, &egress_filter_row_count, egress_filter_name,
	  "filter_egress" },
	{ watcher_filter_rows, &watcher_filter_row_count, watcher_filter_name,
	  "filter_watcher" },
	{ supervisor_filter_rows, &supervisor_filter_row_count, supervisor_filter_name,
	  "filter_supervisor" },
	{ measurer_filter_rows, &measurer_filter_row_count, measurer_filter_name,
	  "filter_measurer" },
	{ copier_filter_rows, &copier_filter_row_count, copier_filter_name,
	  "filter_copier" },
};

START_TEST(every_row_is_complete)
{
	const struct filter_row *rows = tables[_i].rows;

	ck_assert_str_eq(tables[_i].name, tables[_i].want_name);
	ck_assert_uint_gt(*tables[_i].count, 5);
	for (size_t i = 0; i < *tables[_i].count; i++) {
		ck_assert_ptr_nonnull(rows[i].syscall);
		ck_assert_msg(rows[i].why && strlen(rows[i].why) >= 5, "%s has no why",
			      rows[i].syscall);
		ck_assert_msg(rows[i].why[strlen(rows[i].why) - 1] != '.',
			      "%s: its why ends with a full stop", rows[i].syscall);
		ck_assert_msg(seccomp_syscall_resolve_name(rows[i].syscall) !=
				      __NR_SCMP_ERROR,
			      "no syscall is named %s", rows[i].syscall);
		ck_assert_uint_lt(rows[i].arg, 6);
		if (rows[i].when == ALWAYS)
			ck_assert_uint_eq(rows[i].value, 0);
		if (rows[i].when == ARG_CLEAR)
			ck_assert_uint_ne(rows[i].value, 0);
		/* libseccomp puts at most this into SECCOMP_RET_DATA; 0 would be success
		 */
		if (rows[i].when == NEVER)
			ck_assert(rows[i].value > 0 && rows[i].value < 134);
	}
}
END_TEST

/* do two conditions on one call say different things, so that neither is idle? */
static bool differ(const struct filter_row *a, const struct filter_row *b)
{
	if (a->when == ALWAYS || a->when == NEVER || b->when == ALWAYS ||
	    b->when == NEVER)
		return false;
	return a->when != b->when || a->arg != b->arg || a->value != b->value;
}

START_TEST(no_row_repeats_another)
{
	const struct filter_row *rows = tables[_i].rows;

	for (size_t i = 0; i < *tables[_i].count; i++)
		for (size_t k = 0; k < i; k++)
			if (strcmp(rows[i].syscall, rows[k].syscall) == 0 &&
			    !differ(&rows[i], &rows[k]))
				ck_abort_msg("%s: rows %zu and %zu", rows[i].syscall, k,
					     i);
}
END_TEST

/*
 * What jail/plan/syscalls.c and the design name as knowingly excluded. A '*' at the end
 * stands for any ending.
 */
static const char *const excluded[] = {
	"ptrace",
	"process_vm_*",
	"pidfd_getfd",
	"process_madvise",
	"process_mrelease",
	"kcmp",
	"bpf",
	"perf_event_open",
	"userfaultfd",
	"io_uring_*",
	"mount",
	"mount_setattr",
	"umount*",
	"pivot_root",
	"chroot",
	"unshare",
	"setns",
	"fsopen",
	"fsconfig",
	"fsmount",
	"fspick",
	"move_mount",
	"open_tree",
	"keyctl",
	"add_key",
	"request_key",
	"kexec_*",
	"init_module",
	"finit_module",
	"delete_module",
	"create_module",
	"query_module",
	"swap*",
	"reboot",
	"settimeofday",
	"clock_settime",
	"clock_adjtime",
	"adjtimex",
	"stime",
	"quotactl*",
	"acct",
	"syslog",
	"open_by_handle_at",
	"name_to_handle_at",
	"fanotify_*",
	"shm*",
	"msgget",
	"msgsnd",
	"msgrcv",
	"msgctl",
	"sem*",
	"ipc",
	"mq_*",
	"sync",
	"syncfs",
	"vmsplice",
	"tee",
	"remap_file_pages",
	"modify_ldt",
	"seccomp",
	"landlock_*",
	/* no row may change an id, a host-wide name, or reach the hardware */
	"setuid*",
	"setgid*",
	"setreuid*",
	"setregid*",
	"setresuid*",
	"setresgid*",
	"setfsuid*",
	"setfsgid*",
	"setgroups*",
	"capset",
	"sethostname",
	"setdomainname",
	"iopl",
	"ioperm",
	"vhangup",
	"nfsservctl",
	"lookup_dcookie",
	"_sysctl",
	"uselib",
	"memfd_secret",
	"migrate_pages",
	"move_pages",
	"mbind",
	"set_mempolicy*",
	"sched_setscheduler",
	"sched_setattr",
	"sched_setparam",
	"ioprio_*",
	/* they count to the user who started the jail */
	"inotify_init*",
	/* they tell what another jail has read */
	"mincore",
	"cachestat",
};

static bool matches(const char *pattern, const char *name)
{
	size_t n = strlen(pattern);

	if (pattern[n - 1] == '*')
		return strncmp(pattern, name, n - 1) == 0;
	return strcmp(pattern, name) == 0;
}

START_TEST(no_excluded_call_has_a_row)
{
	for (size_t i = 0; i < *tables[_i].count; i++) {
		const struct filter_row *row = &tables[_i].rows[i];

		/* what measures a jail from outside compares memories, and nothing
		 * else */
		if (tables[_i].rows == measurer_filter_rows &&
		    strcmp(row->syscall, "kcmp") == 0 && row->when == ARG_EQ &&
		    row->arg == 2 && row->value == KCMP_VM)
			continue;
		for (size_t k = 0; k < COUNT(excluded); k++)
			ck_assert_msg(!matches(excluded[k], row->syscall), "%s has a row",
				      row->syscall);
	}
}
END_TEST

/* the list above cannot fail if its names are misspelt: each stands for a real call */
START_TEST(excluded_names_are_real)
{
	for (size_t i = 0; i < COUNT(excluded); i++)
		if (!strchr(excluded[i], '*'))
			ck_assert_msg(seccomp_syscall_resolve_name(excluded[i]) !=
					      __NR_SCMP_ERROR,
				      "no syscall is named %s", excluded[i]);
}
END_TEST

/* calls whose arguments decide: never without a condition */
static const struct {
	const char *syscall;
	enum filter_when when;
	unsigned int arg;
} conditional[] = {
	{ "clone", ARG_CLEAR, 0 },
	{ "clone3", NEVER, 0 },
	{ "ioctl", ARG_EQ, 1 },
	{ "prctl", ARG_EQ, 0 },
	{ "personality", NONE_OR_ALL, 0 },
	{ "socketpair", ARG_EQ, 0 },
	{ "prlimit64", OWN_LIMIT, 1 },
	{ "setrlimit", OWN_LIMIT, 0 },
	{ "openat2", NEVER, 0 },
	{ "creat", ARG_CLEAR, 1 },
	{ "chmod", ARG_CLEAR, 1 },
	{ "fchmod", ARG_CLEAR, 1 },
	{ "fchmodat", ARG_CLEAR, 2 },
	{ "mkdir", ARG_CLEAR, 1 },
	{ "mkdirat", ARG_CLEAR, 2 },
	{ "mknod", ARG_CLEAR, 1 },
	{ "mknodat", ARG_CLEAR, 2 },
	{ "mmap", ARG_CLEAR, 3 },
	{ "fadvise64", ARG_CLEAR, 3 },
	{ "preadv2", ARG_CLEAR, 5 },
	{ "pwritev2", ARG_CLEAR, 5 },
	{ "setpriority", NOT_INIT, 1 },
	{ "memfd_create", ARG_CLEAR, 1 },
	{ "sched_setaffinity", NOT_INIT, 0 },
};

START_TEST(a_socket_is_a_unix_or_ip_one)
{
	unsigned int seen = 0;

	for (size_t i = 0; i < jail_filter_row_count; i++) {
		const struct filter_row *row = &jail_filter_rows[i];

		if (strcmp(row->syscall, "socket") != 0)
			continue;
		seen++;
		ck_assert_uint_eq(row->arg, 0);
		ck_assert(row->when == IP_SOCKET ||
			  (row->when == ARG_EQ && row->value == AF_UNIX));
	}
	ck_assert_uint_eq(seen, 2);
}
END_TEST

START_TEST(dangerous_calls_are_conditional)
{
	unsigned int seen = 0;

	for (size_t i = 0; i < jail_filter_row_count; i++) {
		const struct filter_row *row = &jail_filter_rows[i];

		if (strcmp(row->syscall, conditional[_i].syscall) != 0)
			continue;
		seen++;
		ck_assert_int_eq(row->when, conditional[_i].when);
		ck_assert_uint_eq(row->arg, conditional[_i].arg);
	}
	ck_assert_uint_gt(seen, 0);
}
END_TEST

static bool allows(const char *syscall, uint64_t value)
{
	for (size_t i = 0; i < jail_filter_row_count; i++)
		if (strcmp(jail_filter_rows[i].syscall, syscall) == 0 &&
		    jail_filter_rows[i].when == ARG_EQ &&
		    jail_filter_rows[i].value == value)
			return true;
	return false;
}

START_TEST(dangerous_values_have_no_row)
{
	static const unsigned int ioctls[] = { TIOCSTI,   TIOCLINUX,  TIOCSCTTY,
					       TIOCSETD,  TIOCSPGRP,  TIOCCONS,
					       TIOCNOTTY, TIOCVHANGUP };
	static const int prctls[] = { PR_SET_SECCOMP,  PR_SET_MM,
				      PR_SET_PTRACER,  PR_SET_SECUREBITS,
				      PR_CAP_AMBIENT,  PR_SET_KEEPCAPS,
				      PR_CAPBSET_DROP, PR_SET_TIMERSLACK };
	static const int families[] = { AF_NETLINK, AF_PACKET,    AF_ALG, AF_VSOCK,
					AF_KEY,     AF_BLUETOOTH, AF_RDS, AF_TIPC,
					AF_CAN,     AF_XDP };

	for (size_t i = 0; i < COUNT(ioctls); i++)
		ck_assert_msg(!allows("ioctl", ioctls[i]), "ioctl %#x", ioctls[i]);
	for (size_t i = 0; i < COUNT(prctls); i++)
		ck_assert_msg(!allows("prctl", (uint64_t)prctls[i]), "prctl %d",
			      prctls[i]);
	for (size_t i = 0; i < COUNT(families); i++) {
		ck_assert_msg(!allows("socket", (uint64_t)families[i]), "family %d",
			      families[i]);
		ck_assert(!allows("socketpair", (uint64_t)families[i]));
	}
	/* the reverse, so that a misspelt syscall above would be seen */
	ck_assert(allows("ioctl", TCGETS) && allows("prctl", PR_SET_NAME));
	ck_assert(allows("socket", AF_UNIX) && allows("socketpair", AF_UNIX));
}
END_TEST

START_TEST(clone_clears_every_namespace_flag)
{
	static const uint64_t flags[] = { CLONE_NEWNS,    CLONE_NEWUTS, CLONE_NEWIPC,
					  CLONE_NEWUSER,  CLONE_NEWPID, CLONE_NEWNET,
					  CLONE_NEWCGROUP };

	for (size_t i = 0; i < jail_filter_row_count; i++) {
		if (strcmp(jail_filter_rows[i].syscall, "clone") != 0)
			continue;
		for (size_t k = 0; k < COUNT(flags); k++)
			ck_assert_uint_eq(jail_filter_rows[i].value & flags[k], flags[k]);
		return;
	}
	ck_abort_msg("clone has no row");
}
END_TEST

/* PID 1 lives with these calls; another one is a decision to be made here too */
START_TEST(init_has_its_few_calls)
{
	static const char *const calls[] = {
		"ppoll", "poll", "read",       "sendmsg",      "wait4",
		"kill",  "exit", "exit_group", "rt_sigreturn", "restart_syscall"
	};

	ck_assert_uint_eq(init_filter_row_count, COUNT(calls));
	for (size_t i = 0; i < init_filter_row_count; i++) {
		bool found = false;

		for (size_t k = 0; k < COUNT(calls); k++)
			found = found ||
				strcmp(init_filter_rows[i].syscall, calls[k]) == 0;
		ck_assert_msg(found, "%s", init_filter_rows[i].syscall);
		if (strcmp(init_filter_rows[i].syscall, "kill") == 0)
			ck_assert(init_filter_rows[i].when == ARG_EQ &&
				  init_filter_rows[i].arg == 1 &&
				  init_filter_rows[i].value == 0);
	}
}
END_TEST

Suite *init_filter_rows_suite(void)
{
	Suite *s = suite_create("init filter rows");
	TCase *c = tcase_create("rows");

	tcase_add_loop_test(c, every_row_is_complete, 0, (int)COUNT(tables));
	tcase_add_loop_test(c, no_row_repeats_another, 0, (int)COUNT(tables));
	tcase_add_loop_test(c, no_excluded_call_has_a_row, 0, (int)COUNT(tables));
	tcase_add_test(c, excluded_names_are_real);
	tcase_add_loop_test(c, dangerous_calls_are_conditional, 0,
			    (int)COUNT(conditional));
	tcase_add_test(c, a_socket_is_a_unix_or_ip_one);
	tcase_add_test(c, dangerous_values_have_no_row);
	tcase_add_test(c, clone_clears_every_namespace_flag);
	tcase_add_test(c, init_has_its_few_calls);
	suite_add_tcase(s, c);
	return s;
}
