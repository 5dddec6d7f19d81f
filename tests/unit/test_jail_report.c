/* SPDX-License-Identifier: MIT */
/*
 * test_jail_report.c - one JSON object for each run
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "init/io.h"
#include "jail/plan/call.h"
#include "jail/watch/report.h"
#include "tests/unit/suites.h"

/* all of them in every report, in this order; '0' a number, 's' a string, '?' or null */
static const struct {
	const char *key, *kind;
} fields[] = {
	{ "stepjail", "s" },
	{ "verdict", "s" },
	{ "started", "s?" },
	{ "argv", "a" },
	{ "exit_code", "0?" },
	{ "signal", "0?" },
	{ "status", "0" },
	{ "violation", "s?" },
	{ "violations", "o?" },
	{ "error", "s?" },
	{ "limits", "a" },
	{ "wall_ms", "0?" },
	{ "cpu_ms", "0?" },
	{ "cpu_user_ms", "0?" },
	{ "cpu_system_ms", "0?" },
	{ "cpu_throttled_ms", "0?" },
	{ "memory_peak_bytes", "0?" },
	{ "oom_kills", "0?" },
	{ "pids_peak", "0?" },
	{ "pids_refused", "0?" },
	{ "strays", "0?" },
	{ "full", "a?" },
	{ "output", "?" },
	{ "out", "o?" },
	{ "egress", "o?" },
	{ "not_enforced", "a" },
	{ "shut", "a" },
	{ "cgroup_limits", "o?" },
	{ "posture", "o?" },
	{ "watcher", "o?" },
	{ "host_uid", "0?" },
};

static bool fits(const char *kind, const cJSON *value)
{
	return (strchr(kind, '0') && cJSON_IsNumber(value)) ||
	       (strchr(kind, 's') && cJSON_IsString(value)) ||
	       (strchr(kind, 'a') && cJSON_IsArray(value)) ||
	       (strchr(kind, 'o') && cJSON_IsObject(value)) ||
	       (strchr(kind, '?') && cJSON_IsNull(value));
}

/* write it, check its form, and hand it over */
static cJSON *report(const struct jail *jail, const struct outcome *o,
		     const struct judgement *j)
{
	const char *path = unit_path(unit_folder(), "report.json");
	char text[8192];
	struct err e = { 0 };
	int fd = -1;

	ck_assert_msg(report_open(path, 0, &fd, &e) == 0, "%s", e.text);
	ck_assert_int_eq(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	ck_assert_int_eq(report_write(fd, jail, o, j, &e), 0);
	(void)close(fd);

	ssize_t n = io_read_file_at(AT_FDCWD, path, text, sizeof(text));

	ck_assert_int_gt(n, 2);
	ck_assert_int_eq(text[n - 1], '\n');
	for (ssize_t i = 0; i < n - 1; i++)
		HOLDS(text[i] >= ' ' && text[i] < 0x7f);

	cJSON *whole = cJSON_ParseWithOpts(text, NULL, 1);
	const cJSON *field = whole ? whole->child : NULL;

	ck_assert_msg(cJSON_IsObject(whole), "%s", text);
	for (size_t i = 0; i < COUNT(fields); i++, field = field->next) {
		ck_assert_ptr_nonnull(field);
		ck_assert_str_eq(field->string, fields[i].key);
		ck_assert_msg(fits(fields[i].kind, field), "%s: %s", fields[i].key, text);
	}
	ck_assert_ptr_null(field);
	return whole;
}

static void ck_number(const cJSON *whole, const char *key, double want)
{
	const cJSON *field = cJSON_GetObjectItemCaseSensitive(whole, key);

	ck_assert_msg(cJSON_IsNumber(field), "%s is no number", key);
	ck_assert_double_eq(field->valuedouble, want);
}

static void ck_null(const cJSON *whole, const char *key)
{
	ck_assert_msg(cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(whole, key)),
		      "%s is not null", key);
}

static void ck_text(const cJSON *whole, const char *key, const char *want)
{
	ck_assert_pstr_eq(
		cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(whole, key)), want);
}

START_TEST(limits_have_option_and_value)
{
	const struct judgement j = { .met = 1ULL << LIMIT_PIDS,
				     .near = 1ULL << LIMIT_MEMORY_BYTES };
	const uint64_t limit[LIMIT_COUNT] = {
		[LIMIT_PIDS] = 32, [LIMIT_MEMORY_BYTES] = 64 << 20
	};
	char text[256];
	FILE *out = fmemopen(text, sizeof(text), "w");

	report_limits(&j, limit, out);
	(void)fclose(out);
	ck_assert_str_eq(
		text,
		",\"limits\":[{\"option\":\"--memory\",\"value\":\"64M\",\"sure\":false},{\"option\":\"--pids\",\"value\":\"32\",\"sure\":true}]");
}
END_TEST

START_TEST(a_run_in_a_leaf)
{
	struct jail jail = JAIL_NONE;
	const struct outcome o = {
		.started = true,
		.listened = true,
		.have_exit = true,
		.wall_ms = 1234,
		.cgroup = true,
		.exit = { .user_us = 9000000, .max_rss_bytes = 1 },
		.usage = { 77777777, 5, 1, 2, 10000, 20999, 3000 },
		.strays = 4,
		.full = TMPFS_USAGE_WORK | TMPFS_USAGE_TMP,
	};
	const struct judgement j = {
		.verdict = VERDICT_MEMORY,
		.exit_code = -1,
		.signal = 9,
		.status = 137,
	};

	jail.limited = true;
	jail.landlock_abi = 99;
	jail.ids = (struct ids){ true, -1, 1879048192u, 1879048192u, 0, 1000, false };

	cJSON *whole = report(&jail, &o, &j);

	ck_text(whole, "verdict", "memory");
	ck_null(whole, "exit_code");
	ck_number(whole, "signal", 9);
	ck_number(whole, "status", 137);
	ck_null(whole, "error");
	ck_number(whole, "wall_ms", 1234);
	ck_number(whole, "cpu_ms", 30);
	ck_number(whole, "cpu_user_ms", 10);
	ck_number(whole, "cpu_system_ms", 20);
	ck_number(whole, "cpu_throttled_ms", 3);
	ck_number(whole, "memory_peak_bytes", 77777777);
	ck_number(whole, "oom_kills", 1);
	ck_number(whole, "pids_peak", 5);
	ck_number(whole, "pids_refused", 2);
	ck_number(whole, "strays", 4);
	ck_assert_int_eq(cJSON_GetArraySize(cJSON_GetObjectItem(whole, "full")), 2);
	ck_null(whole, "cgroup_limits"); /* never read back */
	/* the program's, not init's */
	ck_number(whole, "host_uid", 1879048193);
	ck_assert_int_eq(cJSON_GetArraySize(cJSON_GetObjectItem(whole, "not_enforced")),
			 0);
	cJSON_Delete(whole);
}
END_TEST

START_TEST(a_run_without_a_leaf_says_what_is_missing)
{
	struct jail jail = JAIL_NONE;
	const struct outcome o = {
		.started = true,
		.listened = true,
		.have_exit = true,
		.exit = { .user_us = 5000, .system_us = 6000, .max_rss_bytes = 4096 },
		.peak = { .memory_bytes = 8192, .processes = 3 },
	};
	const struct judgement j = { .verdict = VERDICT_COMPLETED };

	static struct plan plan;

	plan_init(&plan);
	plan.limit[LIMIT_SWAP_BYTES] = 0;
	plan.limit[LIMIT_PIDS] = 64;
	plan.limit[LIMIT_CPUS_MILLI] = 1000;
	plan.limit[LIMIT_CPU_WEIGHT] = 100;
	jail.plan = &plan;
	jail.missing.errnum = ENOENT;
	jail.ids.host_uid = 1234;

	cJSON *whole = report(&jail, &o, &j);
	const cJSON *not = cJSON_GetObjectItem(whole, "not_enforced");

	ck_text(whole, "verdict", "completed");
	ck_number(whole, "exit_code", 0);
	ck_null(whole, "signal");
	ck_number(whole, "cpu_ms", 11);
	ck_null(whole, "cpu_throttled_ms");
	ck_null(whole, "oom_kills");
	ck_null(whole, "pids_refused");
	ck_number(whole, "memory_peak_bytes", 8192);
	ck_number(whole, "pids_peak", 3);
	ck_number(whole, "host_uid", 1234);
	ck_null(whole, "cgroup_limits");
	/* each limit of a leaf that is not there, by its name */
	ck_assert_int_eq(cJSON_GetArraySize(not ), 4);
	static const char *const walls[] = { "memory.max:", "memory.swap.max:",
					     "pids.max:", "cpu.max:" };
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(strncmp(cJSON_GetArrayItem(not, i)->valuestring,
					 walls[i], strlen(walls[i])),
				 0);
	cJSON_Delete(whole);
}
END_TEST

START_TEST(a_run_without_a_listener_says_so)
{
	static struct plan plan;
	struct jail jail = JAIL_NONE;
	struct outcome o = { .started = true, .cgroup = true };
	const struct judgement j = { .verdict = VERDICT_COMPLETED };

	jail.limited = true;
	jail.plan = &plan;
	for (int kills = 0; kills < 2; kills++) {
		plan.on_violation = kills ? VIOLATION_KILL : VIOLATION_REFUSE;

		cJSON *whole = report(&jail, &o, &j);
		const cJSON *not = cJSON_GetObjectItem(whole, "not_enforced");

		ck_null(whole, "violations");
		ck_null(whole, "violation");
		ck_assert_int_eq(cJSON_GetArraySize(not ), 1 + kills);
		ck_assert_ptr_nonnull(
			strstr(cJSON_GetArrayItem(not, kills)->valuestring,
			       kills ? "--on-violation kill:" : "record of violations:"));
		cJSON_Delete(whole);
	}
}
END_TEST

START_TEST(a_run_that_never_began_knows_nothing)
{
	struct jail jail = JAIL_NONE;
	const struct outcome o = { .have_fail = true };
	const struct judgement j = {
		.verdict = VERDICT_LAUNCHER_ERROR,
		.exit_code = -1,
		.status = 125,
		.error = { EPERM, "ids: \"no\"\n\x1b[2J \xff" },
	};
	cJSON *whole = report(&jail, &o, &j);

	ck_text(whole, "verdict", "launcher-error");
	ck_text(whole, "error", "ids: \"no\"\n\x1b[2J \xef\xbf\xbd");
	ck_number(whole, "status", 125);
	ck_null(whole, "exit_code");
	ck_null(whole, "wall_ms");
	ck_null(whole, "cpu_ms");
	ck_null(whole, "memory_peak_bytes");
	ck_null(whole, "pids_peak");
	ck_null(whole, "strays");
	ck_null(whole, "host_uid");
	ck_null(whole, "posture");
	cJSON_Delete(whole);
}
END_TEST

START_TEST(a_kernel_without_peaks_falls_back)
{
	struct jail jail = JAIL_NONE;
	const struct outcome o = {
		.started = true,
		.cgroup = true,
		.exit.max_rss_bytes = 4096,
		.usage = { .memory_peak_bytes = NO_LIMIT,
			   .pids_peak = NO_LIMIT,
			   .oom_kills = NO_LIMIT,
			   .pids_refused = NO_LIMIT,
			   .throttled_us = NO_LIMIT },
		.full = -1,
	};
	const struct judgement j = { .verdict = VERDICT_EXITED,
				     .exit_code = 3,
				     .status = 3 };

	jail.limited = true;

	cJSON *whole = report(&jail, &o, &j);

	ck_number(whole, "memory_peak_bytes", 4096);
	ck_null(whole, "pids_peak");
	ck_null(whole, "oom_kills");
	ck_null(whole, "pids_refused");
	ck_null(whole, "cpu_throttled_ms");
	ck_null(whole, "full");
	cJSON_Delete(whole);
}
END_TEST

START_TEST(what_could_not_be_read_is_null)
{
	struct jail jail = JAIL_NONE;
	struct outcome o = {
		.started = true,
		.cgroup = true,
		.usage = { NO_LIMIT, NO_LIMIT, NO_LIMIT, NO_LIMIT, NO_LIMIT, NO_LIMIT,
			   NO_LIMIT },
	};
	const struct judgement j = { .verdict = VERDICT_WALL_TIMEOUT,
				     .exit_code = -1,
				     .status = 124 };
	static const char *const keys[] = {
		"cpu_ms",           "cpu_user_ms",       "cpu_system_ms",
		"cpu_throttled_ms", "memory_peak_bytes", "oom_kills",
		"pids_peak",        "pids_refused",
	};

	jail.limited = true;

	cJSON *whole = report(&jail, &o, &j);

	for (size_t i = 0; i < COUNT(keys); i++)
		ck_null(whole, keys[i]);
	cJSON_Delete(whole);
	/* what init told is then the best there is */
	o.have_exit = true;
	o.exit.user_us = 7000;
	whole = report(&jail, &o, &j);
	ck_number(whole, "cpu_ms", 7);
	ck_number(whole, "cpu_user_ms", 7);
	cJSON_Delete(whole);
}
END_TEST

Suite *jail_report_suite(void)
{
	Suite *s = suite_create("jail report");
	TCase *c = tcase_create("report");

	tcase_add_test(c, limits_have_option_and_value);
	tcase_add_test(c, a_run_in_a_leaf);
	tcase_add_test(c, a_run_without_a_leaf_says_what_is_missing);
	tcase_add_test(c, a_run_without_a_listener_says_so);
	tcase_add_test(c, a_run_that_never_began_knows_nothing);
	tcase_add_test(c, a_kernel_without_peaks_falls_back);
	tcase_add_test(c, what_could_not_be_read_is_null);
	suite_add_tcase(s, c);
	return s;
}
