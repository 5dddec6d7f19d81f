/* SPDX-License-Identifier: MIT */
/*
 * test_jail_option.c - the table of options, and command lines
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jail/plan/option.h"
#include "jail/plan/option_row.h"
#include "tests/unit/suites.h"

static struct plan plan;

/* for one or two words before a program */
static int parse2(const char *first, const char *second, struct err *e)
{
	/* argv has no const, but is not written to */
	char *words[] = { (char *)(uintptr_t)first, (char *)(uintptr_t)second, NULL };

	*e = (struct err){ 0 };
	return option_parse(&plan, words, e);
}

#define PARSE(e, ...) option_parse(&plan, (char *[]){ __VA_ARGS__, NULL }, (e))

START_TEST(every_row_is_complete)
{
	bool limits[LIMIT_COUNT] = { false };

	for (size_t i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];

		ck_assert(row->name && row->arg && row->help);
		ck_assert_uint_gt(strlen(row->name), 1);
		ck_assert_uint_gt(strlen(row->arg), 1);
		ck_assert_msg(strlen(row->help) > 10, "%s", row->name);
		ck_assert_msg(row->help[strlen(row->help) - 1] != '.', "%s", row->name);
		ck_assert_uint_eq(strspn(row->name, "abcdefghijklmnopqrstuvwxyz-"),
				  strlen(row->name));
		ck_assert(row->name[0] != '-');
		ck_assert_msg(row->is_limit == (row->set == NULL), "%s", row->name);
		ck_assert_msg(row->is_limit == (row->print == NULL), "%s", row->name);
		if (!row->is_limit)
			continue;
		ck_assert_msg(!limits[row->limit], "%s: its limit has two rows",
			      row->name);
		limits[row->limit] = true;
		ck_assert(!row->repeatable);
		ck_assert_uint_lt(row->min, row->max);
		ck_assert_uint_lt(row->max, NO_LIMIT);
		if (row->initial == NO_LIMIT)
			ck_assert_msg(row->may_be_unlimited, "%s", row->name);
		else
			ck_assert(row->initial >= row->min && row->initial <= row->max);
	}
	for (size_t i = 0; i < LIMIT_COUNT; i++)
		ck_assert_msg(limits[i], "limit %zu has no row", i);
}
END_TEST

START_TEST(names_are_given_once)
{
	for (size_t i = 0; i < option_row_count; i++) {
		/* these two are the command line's own */
		ck_assert_str_ne(option_rows[i].name, "policy");
		ck_assert_str_ne(option_rows[i].name, "help");
		for (size_t k = 0; k < i; k++) {
			ck_assert_str_ne(option_rows[i].name, option_rows[k].name);
			ck_assert_str_ne(option_rows[i].help, option_rows[k].help);
		}
	}
}
END_TEST

START_TEST(nothing_given_is_the_defaults)
{
	struct err e;

	ck_assert_int_eq(option_parse(&plan, (char *[]){ NULL }, &e), 0);
	ck_assert_str_eq(plan.rootfs, "core");
	ck_assert_ptr_null(plan.argv);
	for (size_t i = 0; i < option_row_count; i++)
		if (option_rows[i].is_limit)
			ck_assert_uint_eq(plan.limit[option_rows[i].limit],
					  option_rows[i].initial);
	/* what the words for them promise */
	ck_assert_uint_eq(plan.limit[LIMIT_WALL_MS], 60000);
	ck_assert_uint_eq(plan.limit[LIMIT_CPU_MS], NO_LIMIT);
	ck_assert_uint_eq(plan.limit[LIMIT_MEMORY_BYTES], 512ULL << 20);
	ck_assert_uint_eq(plan.limit[LIMIT_PIDS], 64);
}
END_TEST

/* one good value for each option that is no number, and values that are refused */
static const struct {
	const char *name, *good;
	const char *bad[6];
} texts[] = {
	{ "rootfs", "./tree", { "" } },
	{ "bind", "/a:/b", { "/a", "/a:b", "/a:/", "/a:/proc", "/a:/b/..", "" } },
	{ "bind-rw", "/a:/b", { "/a", "/a:b", "/a:/", "/a:/dev/x", ":/b", "" } },
	{ "env", "A=b", { "A", "=b", "" } },
	{ "chdir", "/tmp", { "", " /tmp", "/tmp " } },
	{ "hostname", "a-1.b", { "a_b", "a b", "ä", "a/b", "" } },
	{ "net", "/run/x", { "host", "NONE", "none,loopback", "./x", "" } },
	{ "wall", "vm", { "host", "VM", "" } },
	{ "allow-host",
	  "a.b:443,*.c.d:1",
	  { "a.b", ",a.b:1", "a.b:1,,c.d:1", "*:1", "" } },
	{ "secret-header", "a.b:X-Y=/f", { "a.b", "a.b:X", "a.b:=f", "a.b:X Y=f", "" } },
	{ "net-namespace", "fresh", { "host", "new", "yes", "" } },
	{ "proc", "none", { "all", "Pid", "pi", "" } },
	{ "capture", "stderr", { "yes", "stdout", "Both", "both,stderr", "" } },
	{ "oom-group", "yes", { "true", "Yes", "1", "" } },
	{ "cpuset", "0-1,3", { "", "0-", "3-1", "0,", "a", "1024" } },
	{ "io-max", "8:0 rbps=1M", { "", "/", "/ rbps", "/ rbps=0", "/ x=1", "rbps=1" } },
	{ "quiet", "yes", { "on", "Yes", "" } },
	{ "report", "out.json", { "", "x\n" } },
	{ "hold", "3,4", { "3", "3,", "2,3", "3,4x", "-3,4", "" } },
	{ "out", "results", { "", "x\n" } },
	{ "out-hidden", "yes", { "on", "Yes", "" } },
	{ "lock-code", "no", { "maybe", "YES", "y", "" } },
	{ "allow-syscall",
	  "ioctl=0x5421",
	  { "mount", "ioctl", "sync=1", "read x", "0", "" } },
	{ "on-violation", "kill", { "eperm", "Kill", "" } },
	{ "learn", "yes", { "on", "Yes", "" } },
	{ "cold", "yes", { "on", "Yes", "" } },
	{ "allow-missing", "cgroup", { "seccomp", "cgroups", "landlock", "" } },
	{ "require", "landlock", { "cgroup", "landlocks", "Landlock", "" } },
	{ "preload", "json,a.b_c", { "", ",a", "a,", "a,,b", "a b", "a;b" } },
	{ "deterministic", "yes", { "on", "Yes", "0", "" } },
	{ "aslr", "no", { "off", "No", "0", "" } },
	{ "clock-start", "2024-02-29", { "2023-02-29", "now", "-1", "" } },
	{ "verify-rootfs", "yes", { "true", "Yes", "1", "" } },
};

static const struct option_row *row_of(const char *name)
{
	for (size_t i = 0; i < option_row_count; i++)
		if (strcmp(option_rows[i].name, name) == 0)
			return &option_rows[i];
	ck_abort_msg("no option is named %s", name);
	return NULL;
}

/* what an option is nothing without, or NULL */
static char *needed(const char *name)
{
	static char host[] = "--allow-host=a.b:443";

	return strcmp(name, "secret-header") == 0 ? host : NULL;
}

static void ck_option_refused(const char *name, const char *value)
{
	char first[128], want[64];
	struct err e;

	/* one word, which is the only way for an option that may stand alone */
	(void)snprintf(first, sizeof(first), "--%s=%s", name, value);
	ck_assert_msg(parse2(first, NULL, &e) < 0, "%s is taken", first);
	(void)snprintf(want, sizeof(want), "--%s: ", name);
	ck_assert_msg(strncmp(e.text, want, strlen(want)) == 0, "%s: %s", first, e.text);
	ck_assert_int_gt(e.errnum, 0);
}

START_TEST(texts_are_taken_or_refused)
{
	size_t rows = 0;

	for (size_t i = 0; i < COUNT(texts); i++) {
		char first[64];
		struct err e;

		(void)row_of(texts[i].name);
		(void)snprintf(first, sizeof(first), "--%s=%s", texts[i].name,
			       texts[i].good);
		ck_assert_msg(parse2(first, needed(texts[i].name), &e) == 0, "%s: %s",
			      first, e.text);
		for (size_t k = 0; k < COUNT(texts[i].bad) && texts[i].bad[k]; k++)
			ck_option_refused(texts[i].name, texts[i].bad[k]);
		/* no policy file could carry these */
		ck_option_refused(texts[i].name, " lead");
		ck_option_refused(texts[i].name, "trail\t");
		ck_option_refused(texts[i].name, "trail\r");
		ck_option_refused(texts[i].name, "two\nlines");
	}
	for (size_t i = 0; i < option_row_count; i++)
		rows += !option_rows[i].is_limit;
	ck_assert_uint_eq(rows, COUNT(texts));
}
END_TEST

START_TEST(texts_go_where_they_belong)
{
	char name65[66];
	struct err e;

	ck_assert_int_eq(PARSE(&e, "--rootfs=./t", "--chdir=/c", "--hostname=h",
			       "--net=loopback", "--proc=none", "--report=3",
			       "--allow-missing=cgroup", "--require=landlock",
			       "--verify-rootfs", "--bind=/a:/b", "--bind-rw=/c:/d",
			       "--env=A=b"),
			 0);
	ck_assert_str_eq(plan.rootfs, "./t");
	ck_assert_str_eq(plan.chdir, "/c");
	ck_assert_str_eq(plan.hostname, "h");
	ck_assert_int_eq(plan.net, NET_LOOPBACK);
	ck_assert_int_eq(plan.proc, PROC_NONE);
	ck_assert_str_eq(plan.report, "3");
	ck_assert_uint_eq(plan.allow_missing, PART_CGROUP);
	ck_assert_uint_eq(plan.require, REQUIRE_LANDLOCK);
	ck_assert_int_eq(plan.verify_rootfs, ANSWER_YES);
	ck_assert_uint_eq(plan.bind_count, 2);
	ck_assert(!plan.bind[0].writable && plan.bind[1].writable);
	ck_assert_str_eq(plan.env[plan.env_count - 1], "A=b");

	memset(name65, 'h', sizeof(name65));
	name65[65] = '\0';
	ck_option_refused("hostname", name65);
	name65[64] = '\0';
	ck_assert_int_eq(parse2("--hostname", name65, &e), 0);
}
END_TEST

static const struct option_row *limit_row(int i)
{
	for (size_t k = 0; k < option_row_count; k++)
		if (option_rows[k].is_limit && (int)option_rows[k].limit == i)
			return &option_rows[k];
	ck_abort_msg("limit %d has no row", i);
	return NULL;
}

START_TEST(numbers_keep_their_bounds)
{
	static const char *const junk[] = { "",
					    "x",
					    "-1",
					    "1x",
					    " 1",
					    "1 ",
					    "1e3",
					    "0x1",
					    "none",
					    "Unlimited",
					    "unlimited ",
					    "+5",
					    "99999999999999999999999999" };
	const struct option_row *row = limit_row(_i);
	char first[64], text[VALUE_TEXT_MAX];
	struct err e;

	(void)snprintf(first, sizeof(first), "--%s", row->name);
	/* so that much CPU time contradicts nothing */
	ck_assert_int_eq(PARSE(&e,
			       row->limit == LIMIT_CPUS_MILLI ? "--net=none"
			       : row->limit == LIMIT_SEED     ? "--deterministic"
							      : "--cpus=unlimited",
			       first,
			       (char *)(uintptr_t)value_print(row->kind, row->max, text)),
			 0);
	ck_assert_uint_eq(plan.limit[row->limit], row->max);
	ck_assert_int_eq(parse2(first, value_print(row->kind, row->min, text), &e), 0);
	ck_assert_uint_eq(plan.limit[row->limit], row->min);
	ck_option_refused(row->name, value_print(row->kind, row->max + 1, text));
	if (row->min)
		ck_option_refused(row->name, value_print(row->kind, row->min - 1, text));
	for (size_t i = 0; i < COUNT(junk); i++)
		ck_option_refused(row->name, junk[i]);
	if (!row->may_be_unlimited) {
		ck_option_refused(row->name, "unlimited");
		return;
	}
	ck_assert_int_eq(parse2(first, "unlimited", &e), 0);
	ck_assert_uint_eq(plan.limit[row->limit], NO_LIMIT);
}
END_TEST

static const char *good_value(const struct option_row *row, char *text)
{
	if (row->is_limit)
		return value_print(row->kind, row->min, text);
	for (size_t i = 0; i < COUNT(texts); i++)
		if (strcmp(texts[i].name, row->name) == 0)
			return texts[i].good;
	return NULL;
}

/* as two words, and as one with an equals sign; the second time it is refused, unless
 * the option is a list, where the same entry counts once */
START_TEST(options_are_given_once)
{
	const struct option_row *row = &option_rows[_i];
	char name[64], both[128], text[VALUE_TEXT_MAX], want[64];
	const char *value = good_value(row, text);
	struct err e = { 0 };

	(void)snprintf(name, sizeof(name), "--%s", row->name);
	(void)snprintf(both, sizeof(both), "--%s=%s", row->name, value);
	ck_assert_int_eq(parse2(both, needed(row->name), &e), 0);
	if (row->repeatable) {
		ck_assert_int_eq(PARSE(&e, name, (char *)(uintptr_t)value, both,
				       needed(row->name)),
				 0);
		return;
	}
	if (row->bare)
		ck_assert_int_eq(PARSE(&e, name, both), -EEXIST);
	else
		ck_assert_int_eq(PARSE(&e, name, (char *)(uintptr_t)value, both),
				 -EEXIST);
	(void)snprintf(want, sizeof(want), "--%s: ", row->name);
	ck_assert_int_eq(strncmp(e.text, want, strlen(want)), 0);
	ck_assert_ptr_nonnull(strstr(e.text, "given twice"));
}
END_TEST

START_TEST(a_missing_value_is_named)
{
	const struct option_row *row = &option_rows[_i];
	char name[64], empty[64], program[] = "program";
	char *const words[] = { name, program, NULL };
	struct err e;

	(void)snprintf(name, sizeof(name), "--%s", row->name);
	if (row->bare) {
		/* it has one, and its next word is the program's */
		ck_assert_int_eq(parse2(name, NULL, &e), 0);
		ck_assert_int_eq(option_parse(&plan, words, &e), 0);
		ck_assert_str_eq(plan.argv[0], "program");
		ck_assert_int_eq(parse2(name, row->bare, &e), -EINVAL);
	} else {
		ck_assert_int_eq(parse2(name, NULL, &e), -EINVAL);
		ck_assert_ptr_nonnull(strstr(e.text, row->arg));
	}
	ck_assert_ptr_nonnull(strstr(e.text, name));
	(void)snprintf(empty, sizeof(empty), "--%s=", row->name);
	ck_assert_int_eq(parse2(empty, NULL, &e), -EINVAL);
	ck_assert_ptr_nonnull(strstr(e.text, name));
}
END_TEST

Suite *jail_option_suite(void)
{
	Suite *s = suite_create("jail option");
	TCase *c = tcase_create("option");

	tcase_add_checked_fixture(c, unit_lives_on, NULL);
	tcase_add_test(c, every_row_is_complete);
	tcase_add_test(c, names_are_given_once);
	tcase_add_test(c, nothing_given_is_the_defaults);
	tcase_add_test(c, texts_are_taken_or_refused);
	tcase_add_test(c, texts_go_where_they_belong);
	tcase_add_loop_test(c, numbers_keep_their_bounds, 0, LIMIT_COUNT);
	tcase_add_loop_test(c, options_are_given_once, 0, (int)option_row_count);
	tcase_add_loop_test(c, a_missing_value_is_named, 0, (int)option_row_count);
	suite_add_tcase(s, c);
	return s;
}
