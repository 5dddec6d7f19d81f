/* SPDX-License-Identifier: MIT */
/*
 * test_jail_outcome.c - the verdict that follows from the evidence
 *
 * Each row is one way for a run to end; those that look alike stand side by side.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "jail/watch/outcome.h"
#include "jail/walls/stage.h"
#include "tests/unit/suites.h"

/* wait statuses, as waitpid(2) gives them */
#define EXIT(code) ((uint32_t)(code) << 8)
#define SIGNAL(number) ((uint32_t)(number))

struct ending {
	const char *what;
	/* evidence */
	enum verdict killed;
	int cancel_signal;
	bool have_exit;
	uint32_t wstatus;
	bool cgroup;
	uint64_t oom_kills, pids_refused, cpu_us, cpu_limit_ms;
	int full; /* enum tmpfs_usage_bit bits */
	/* judgement */
	enum verdict verdict;
	int exit_code, signal, status;
};

#define TOLD(w) .have_exit = true, .wstatus = (w)
#define LEAF .cgroup = true
#define OOM .cgroup = true, .oom_kills = 1
#define END(v, code, sig, st)                                                            \
	.verdict = VERDICT_##v, .exit_code = (code), .signal = (sig), .status = (st)
#define CPU(used_ms, limit_ms) .cpu_us = (used_ms)*1000, .cpu_limit_ms = (limit_ms)

static const struct ending endings[] = {
	/* by itself */
	{ "exit 0", TOLD(EXIT(0)), END(COMPLETED, 0, 0, 0) },
	{ "exit 1", TOLD(EXIT(1)), END(EXITED, 1, 0, 1) },
	{ "exit 255", TOLD(EXIT(255)), END(EXITED, 255, 0, 255) },
	{ "exit 124 is no timeout", TOLD(EXIT(124)), END(EXITED, 124, 0, 124) },
	{ "exit 125 is no failure of ours", TOLD(EXIT(125)), END(EXITED, 125, 0, 125) },
	{ "exit 126 by itself", TOLD(EXIT(126)), END(EXITED, 126, 0, 126) },
	{ "exit 127 by itself", TOLD(EXIT(127)), END(EXITED, 127, 0, 127) },
	{ "exit 137 is no kill", TOLD(EXIT(137)), END(EXITED, 137, 0, 137) },
	{ "exit 137 is no kill in a leaf", TOLD(EXIT(137)), LEAF,
	  END(EXITED, 137, 0, 137) },
	{ "segfault", TOLD(SIGNAL(SIGSEGV)), END(SIGNALED, -1, SIGSEGV, 139) },
	{ "segfault with a core", TOLD(SIGNAL(SIGSEGV) | 0x80),
	  END(SIGNALED, -1, SIGSEGV, 139) },
	{ "abort", TOLD(SIGNAL(SIGABRT)), END(SIGNALED, -1, SIGABRT, 134) },
	{ "SIGTERM by itself", TOLD(SIGNAL(SIGTERM)), END(SIGNALED, -1, SIGTERM, 143) },
	{ "SIGKILL by itself", TOLD(SIGNAL(SIGKILL)), END(SIGNALED, -1, SIGKILL, 137) },
	{ "SIGKILL by itself in a leaf", TOLD(SIGNAL(SIGKILL)), LEAF,
	  END(SIGNALED, -1, SIGKILL, 137) },
	{ "a file over its size", TOLD(SIGNAL(SIGXFSZ)), END(DISK, -1, SIGXFSZ, 153) },
	/* by the launcher, which takes init along */
	{ "wall", VERDICT_WALL_TIMEOUT, END(WALL_TIMEOUT, -1, 0, 124) },
	{ "wall, told", VERDICT_WALL_TIMEOUT, TOLD(SIGNAL(SIGKILL)),
	  END(WALL_TIMEOUT, -1, SIGKILL, 124) },
	{ "cpu", VERDICT_CPU_TIMEOUT, END(CPU_TIMEOUT, -1, 0, 137) },
	{ "cpu, told", VERDICT_CPU_TIMEOUT, TOLD(SIGNAL(SIGKILL)),
	  END(CPU_TIMEOUT, -1, SIGKILL, 137) },
	{ "memory, watched", VERDICT_MEMORY, END(MEMORY, -1, 0, 137) },
	{ "cancelled by SIGINT", VERDICT_CANCELLED, SIGINT, END(CANCELLED, -1, 0, 130) },
	{ "cancelled by SIGTERM", VERDICT_CANCELLED, SIGTERM,
	  END(CANCELLED, -1, 0, 143) },
	{ "cancelled, told", VERDICT_CANCELLED, SIGHUP, TOLD(SIGNAL(SIGKILL)),
	  END(CANCELLED, -1, SIGKILL, 129) },
	/* by the launcher, but the program had ended before the kill came */
	{ "exit 0 at the wall", VERDICT_WALL_TIMEOUT, TOLD(EXIT(0)),
	  END(COMPLETED, 0, 0, 0) },
	{ "exit 3 at the wall", VERDICT_WALL_TIMEOUT, TOLD(EXIT(3)),
	  END(EXITED, 3, 0, 3) },
	{ "segfault at the wall", VERDICT_WALL_TIMEOUT, TOLD(SIGNAL(SIGSEGV)),
	  END(SIGNALED, -1, SIGSEGV, 139) },
	{ "exit 0 when cancelled", VERDICT_CANCELLED, SIGINT, TOLD(EXIT(0)),
	  END(COMPLETED, 0, 0, 0) },
	/* out of memory, next to everything that it is taken for */
	{ "oom", TOLD(SIGNAL(SIGKILL)), OOM, END(MEMORY, -1, SIGKILL, 137) },
	{ "oom of init too", OOM, END(MEMORY, -1, 0, 137) },
	{ "oom of a child, and the program says so", TOLD(EXIT(1)), OOM,
	  END(MEMORY, 1, 0, 1) },
	{ "oom of a child, and exit 137", TOLD(EXIT(137)), OOM,
	  END(MEMORY, 137, 0, 137) },
	{ "oom of a child that did not matter", TOLD(EXIT(0)), OOM,
	  END(COMPLETED, 0, 0, 0) },
	{ "oom of a child, then a segfault", TOLD(SIGNAL(SIGSEGV)), OOM,
	  END(SIGNALED, -1, SIGSEGV, 139) },
	{ "wall after an oom", VERDICT_WALL_TIMEOUT, OOM, END(WALL_TIMEOUT, -1, 0, 124) },
	{ "wall after an oom, told", VERDICT_WALL_TIMEOUT, TOLD(SIGNAL(SIGKILL)), OOM,
	  END(WALL_TIMEOUT, -1, SIGKILL, 124) },
	{ "cancelled after an oom", VERDICT_CANCELLED, SIGINT, OOM,
	  END(CANCELLED, -1, 0, 130) },
	{ "cpu after an oom", VERDICT_CPU_TIMEOUT, OOM, END(CPU_TIMEOUT, -1, 0, 137) },
	/* RLIMIT_CPU, whose kill looks like any other */
	{ "rlimit cpu", TOLD(SIGNAL(SIGKILL)), CPU(2000, 2000),
	  END(CPU_TIMEOUT, -1, SIGKILL, 137) },
	{ "rlimit cpu in a leaf", TOLD(SIGNAL(SIGKILL)), LEAF, CPU(2001, 2000),
	  END(CPU_TIMEOUT, -1, SIGKILL, 137) },
	{ "SIGXCPU", TOLD(SIGNAL(SIGXCPU)), CPU(2000, 2000),
	  END(CPU_TIMEOUT, -1, SIGXCPU, 128 + SIGXCPU) },
	{ "SIGKILL before the time is up", TOLD(SIGNAL(SIGKILL)), CPU(1999, 2000),
	  END(SIGNALED, -1, SIGKILL, 137) },
	{ "SIGXCPU that it sent itself", TOLD(SIGNAL(SIGXCPU)), CPU(0, 2000),
	  END(SIGNALED, -1, SIGXCPU, 128 + SIGXCPU) },
	{ "SIGKILL without a limit", TOLD(SIGNAL(SIGKILL)), CPU(9999, NO_LIMIT),
	  END(SIGNALED, -1, SIGKILL, 137) },
	{ "segfault when the time is up", TOLD(SIGNAL(SIGSEGV)), CPU(2000, 2000),
	  END(SIGNALED, -1, SIGSEGV, 139) },
	{ "exit 137 when the time is up", TOLD(EXIT(137)), CPU(2000, 2000),
	  END(EXITED, 137, 0, 137) },
	{ "oom when the time is up", TOLD(SIGNAL(SIGKILL)), OOM, CPU(2000, 2000),
	  END(MEMORY, -1, SIGKILL, 137) },
	/* pids */
	{ "forks refused", TOLD(EXIT(1)), LEAF, .pids_refused = 3, END(PIDS, 1, 0, 1) },
	{ "forks refused, no harm", TOLD(EXIT(0)), LEAF, .pids_refused = 3,
	  END(COMPLETED, 0, 0, 0) },
	{ "forks refused, then a signal", TOLD(SIGNAL(SIGABRT)), LEAF, .pids_refused = 3,
	  END(SIGNALED, -1, SIGABRT, 134) },
	{ "forks refused and oom", TOLD(EXIT(1)), OOM, .pids_refused = 3,
	  END(MEMORY, 1, 0, 1) },
	{ "wall in a fork bomb", VERDICT_WALL_TIMEOUT, LEAF, .pids_refused = 3,
	  END(WALL_TIMEOUT, -1, 0, 124) },
	{ "pids: refused or not is not known", TOLD(EXIT(1)), LEAF,
	  .pids_refused = NO_LIMIT, END(EXITED, 1, 0, 1) },
	/* memory, next to what it is taken for */
	{ "SIGKILL by itself, kills not known", TOLD(SIGNAL(SIGKILL)), LEAF,
	  .oom_kills = NO_LIMIT, END(SIGNALED, -1, SIGKILL, 137) },
	{ "exit 3, kills not known", TOLD(EXIT(3)), LEAF, .oom_kills = NO_LIMIT,
	  END(EXITED, 3, 0, 3) },
	{ "oom of a child, and exit 3", TOLD(EXIT(3)), OOM, END(MEMORY, 3, 0, 3) },
	{ "oom of the whole group", .oom_kills = 5, LEAF, END(MEMORY, -1, 0, 137) },
	/* a full tmpfs */
	{ "full, and exit 1", TOLD(EXIT(1)), .full = TMPFS_USAGE_WORK,
	  END(DISK, 1, 0, 1) },
	{ "full in a leaf", TOLD(EXIT(1)), LEAF, .full = TMPFS_USAGE_TMP,
	  END(DISK, 1, 0, 1) },
	{ "full, no harm", TOLD(EXIT(0)), .full = TMPFS_USAGE_TMP,
	  END(COMPLETED, 0, 0, 0) },
	{ "full is not known", TOLD(EXIT(1)), .full = -1, END(EXITED, 1, 0, 1) },
	{ "full, and SIGBUS", TOLD(SIGNAL(SIGBUS)), .full = TMPFS_USAGE_TMP,
	  END(DISK, -1, SIGBUS, 128 + SIGBUS) },
	{ "SIGBUS by itself", TOLD(SIGNAL(SIGBUS)),
	  END(SIGNALED, -1, SIGBUS, 128 + SIGBUS) },
	{ "SIGBUS, full is not known", TOLD(SIGNAL(SIGBUS)), .full = -1,
	  END(SIGNALED, -1, SIGBUS, 128 + SIGBUS) },
	{ "full, and a segfault", TOLD(SIGNAL(SIGSEGV)), .full = TMPFS_USAGE_TMP,
	  END(SIGNALED, -1, SIGSEGV, 139) },
	{ "full, and SIGKILL by itself", TOLD(SIGNAL(SIGKILL)), .full = TMPFS_USAGE_TMP,
	  END(SIGNALED, -1, SIGKILL, 137) },
	{ "full and oom", TOLD(SIGNAL(SIGKILL)), OOM, .full = TMPFS_USAGE_TMP,
	  END(MEMORY, -1, SIGKILL, 137) },
	{ "full and oom of a child", TOLD(EXIT(1)), OOM, .full = TMPFS_USAGE_TMP,
	  END(MEMORY, 1, 0, 1) },
	{ "full and forks refused", TOLD(EXIT(1)), LEAF, .pids_refused = 1,
	  .full = TMPFS_USAGE_TMP, END(PIDS, 1, 0, 1) },
	{ "full at the wall", VERDICT_WALL_TIMEOUT, .full = TMPFS_USAGE_WORK,
	  END(WALL_TIMEOUT, -1, 0, 124) },
	{ "full when cpu is used up", VERDICT_CPU_TIMEOUT, LEAF, .full = TMPFS_USAGE_WORK,
	  END(CPU_TIMEOUT, -1, 0, 137) },
	/* nobody noted anything */
	{ "init is gone", END(LAUNCHER_ERROR, -1, 0, 125) },
	{ "init is gone in a leaf", LEAF, END(LAUNCHER_ERROR, -1, 0, 125) },
	/* counters are not believed without a leaf, nor where they could not be read */
	{ "exit, counters unknown", TOLD(EXIT(1)), LEAF, .oom_kills = NO_LIMIT,
	  .pids_refused = NO_LIMIT, END(EXITED, 1, 0, 1) },
	{ "counters of no leaf", TOLD(EXIT(1)), .oom_kills = 1, .pids_refused = 1,
	  END(EXITED, 1, 0, 1) },
};

static struct plan plan;

static void make_outcome(const struct ending *row, struct outcome *o)
{
	*o = (struct outcome){
		.killed = row->killed,
		.cancel_signal = row->cancel_signal,
		.have_exit = row->have_exit,
		.exit.wstatus = row->wstatus,
		.started = true,
		.cgroup = row->cgroup,
		.usage.oom_kills = row->oom_kills,
		.usage.pids_refused = row->pids_refused,
		.full = row->full,
	};
	/* half of it each, where the judge must look */
	if (row->cgroup) {
		o->usage.user_us = row->cpu_us / 2;
		o->usage.system_us = row->cpu_us - row->cpu_us / 2;
	} else {
		o->exit.user_us = row->cpu_us / 2;
		o->exit.system_us = row->cpu_us - row->cpu_us / 2;
	}
	plan.limit[LIMIT_CPU_MS] = row->cpu_limit_ms ? row->cpu_limit_ms : NO_LIMIT;
}

START_TEST(every_ending_has_its_verdict)
{
	const struct ending *row = &endings[_i];
	struct outcome o;
	struct judgement j;

	make_outcome(row, &o);
	memset(&j, 0x5a, sizeof(j));
	outcome_judge(&o, &plan, &j);
	ck_assert_msg(j.verdict == row->verdict, "%s: %s, not %s", row->what,
		      verdict_names[j.verdict], verdict_names[row->verdict]);
	ck_assert_msg(j.exit_code == row->exit_code, "%s: exit code %d", row->what,
		      j.exit_code);
	ck_assert_msg(j.signal == row->signal, "%s: signal %d", row->what, j.signal);
	ck_assert_msg(j.status == row->status, "%s: status %d", row->what, j.status);
	if (j.verdict == VERDICT_LAUNCHER_ERROR)
		ck_assert(j.error.errnum > 0 && j.error.text[0]);
	else
		ck_assert_int_eq(j.error.errnum, 0);
}
END_TEST

START_TEST(endings_are_given_once)
{
	for (size_t i = 0; i < COUNT(endings); i++)
		for (size_t k = 0; k < i; k++)
			ck_assert_str_ne(endings[i].what, endings[k].what);
}
END_TEST

static const struct {
	const char *what;
	bool exec, started;
	uint32_t errnum;
	int status;
} failures[] = {
	{ "not found", true, true, ENOENT, 127 },
	{ "no folder on the way", true, true, ENOTDIR, 127 },
	{ "not executable", true, true, EACCES, 126 },
	{ "a folder", true, true, EISDIR, 126 },
	{ "no program format", true, true, ENOEXEC, 126 },
	{ "no memory for it", true, true, ENOMEM, 126 },
	{ "init's exec, before the gate", true, false, ENOENT, 125 },
	{ "a stage", false, false, EPERM, 125 },
	{ "a stage, with a misleading errno", false, false, ENOENT, 125 },
	{ "a stage, in a jail that claims to have started", false, true, ENOENT, 125 },
};

START_TEST(failures_have_their_status)
{
	struct outcome o = {
		.have_fail = true,
		.started = failures[_i].started,
		.fail = { failures[_i].exec ? (uint32_t)stage_count - 1 : 0,
			  failures[_i].errnum, "x: y" },
		/* what else came is not looked at */
		.have_exit = true,
		.killed = VERDICT_WALL_TIMEOUT,
	};
	struct judgement j;

	outcome_judge(&o, &plan, &j);
	ck_assert_int_eq(j.verdict, VERDICT_LAUNCHER_ERROR);
	ck_assert_msg(j.status == failures[_i].status, "%s: %d", failures[_i].what,
		      j.status);
	ck_assert_int_eq(j.exit_code, -1);
	ck_assert_int_eq(j.signal, 0);
	ck_assert_str_eq(j.error.text, "x: y");
	ck_assert_int_eq(j.error.errnum, (int)failures[_i].errnum);
}
END_TEST

/* a frame from the jail is hostile: any number in it, and no NUL at the end */
START_TEST(hostile_failures_are_survived)
{
	static const uint32_t numbers[] = { 0,         1,          133,       4096,
					    INT32_MAX, 0x80000000, UINT32_MAX };

	for (size_t i = 0; i < COUNT(numbers); i++) {
		struct outcome o = { .have_fail = true, .started = true };
		struct judgement j;

		memset(o.fail.text, 'x', sizeof(o.fail.text));
		o.fail.stage = numbers[i];
		o.fail.errnum = numbers[i];
		outcome_judge(&o, &plan, &j);
		ck_assert_int_eq(j.verdict, VERDICT_LAUNCHER_ERROR);
		ck_assert_int_eq(j.status, 125);
		ck_assert_uint_eq(strlen(j.error.text), ERR_TEXT_MAX - 1);
		/* a report writes the words only beside an errno */
		ck_assert_msg(j.error.errnum > 0, "errno %d", j.error.errnum);
		o.fail.text[0] = '\0';
		outcome_judge(&o, &plan, &j);
		ck_assert(j.error.text[0]);
		(void)snprintf(o.fail.text, sizeof(o.fail.text), "a\n\x1b[2J");
		outcome_judge(&o, &plan, &j);
		ck_assert_str_eq(j.error.text, "a??[2J");
	}
}
END_TEST

START_TEST(every_verdict_has_a_name)
{
	for (size_t i = 0; i < VERDICT_COUNT; i++) {
		ck_assert_ptr_nonnull(verdict_names[i]);
		ck_assert_uint_eq(strspn(verdict_names[i], "abcdefghijklmnopqrstuvwxyz-"),
				  strlen(verdict_names[i]));
		for (size_t k = 0; k < i; k++)
			ck_assert_str_ne(verdict_names[i], verdict_names[k]);
	}
	/* programs read these */
	ck_assert_str_eq(verdict_names[VERDICT_WALL_TIMEOUT], "wall-timeout");
	ck_assert_str_eq(verdict_names[VERDICT_LAUNCHER_ERROR], "launcher-error");
}
END_TEST

START_TEST(cpu_time_is_of_the_best_source)
{
	struct outcome o = {
		.exit = { .user_us = 1000, .system_us = 3000 },
		.peak = { .cpu_us = 500 },
		.usage = { .user_us = 70000, .system_us = 80000 },
	};

	/* init and the samples each tell of a part: the larger is nearer */
	ck_assert_uint_eq(outcome_cpu_us(&o), 4000);
	o.peak.cpu_us = 5000;
	ck_assert_uint_eq(outcome_cpu_us(&o), 5000);
	o.cgroup = true;
	ck_assert_uint_eq(outcome_cpu_us(&o), 150000);
	/* a leaf that could not be read */
	o.usage.user_us = NO_LIMIT;
	o.usage.system_us = NO_LIMIT;
	ck_assert_uint_eq(outcome_cpu_us(&o), 5000);
}
END_TEST

Suite *jail_outcome_suite(void)
{
	Suite *s = suite_create("jail outcome");
	TCase *c = tcase_create("outcome");

	tcase_add_loop_test(c, every_ending_has_its_verdict, 0, (int)COUNT(endings));
	tcase_add_test(c, endings_are_given_once);
	tcase_add_loop_test(c, failures_have_their_status, 0, (int)COUNT(failures));
	tcase_add_test(c, hostile_failures_are_survived);
	tcase_add_test(c, every_verdict_has_a_name);
	tcase_add_test(c, cpu_time_is_of_the_best_source);
	suite_add_tcase(s, c);
	return s;
}
