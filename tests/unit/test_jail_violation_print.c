/* SPDX-License-Identifier: MIT */
/*
 * test_jail_violation_print.c - refused calls in a report, and as policy rows
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "init/io.h"
#include "jail/plan/call.h"
#include "jail/watch/report.h"
#include "tests/unit/caller.h"
#include "tests/unit/suites.h"

static cJSON *printed(bool listened)
{
	cleanup_free char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	cJSON *whole;

	violation_print(&caller_heard, listened, out);
	(void)fclose(out);
	whole = cJSON_ParseWithOpts(text, NULL, 1);
	ck_assert_msg(whole != NULL, "%s", text);
	return whole;
}

static const char *text_of(const cJSON *object, const char *key)
{
	return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
}

static double number_of(const cJSON *object, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	ck_assert_msg(cJSON_IsNumber(item), "%s", key);
	return item->valuedouble;
}

static bool make_two(void)
{
	return caller_refused(SYS_clone, 0xff00000000000000 | CLONE_NEWUSER, 7) &&
	       caller_refused(700, 1, 2);
}

START_TEST(it_prints_as_json)
{
	caller_plan = (struct plan){ .learn = ANSWER_YES };
	caller_start(make_two);
	(void)caller_serve_all();
	caller_ends_with(0);

	cJSON *whole = printed(true);
	const cJSON *list = cJSON_GetObjectItem(whole, "list");
	const cJSON *one = cJSON_GetArrayItem(list, 0), *two = one->next, *args;

	ck_assert_double_eq(number_of(whole, "total"), 2);
	ck_assert_double_eq(number_of(whole, "unlisted"), 0);
	ck_assert_int_eq(cJSON_GetArraySize(list), 2);
	ck_assert_str_eq(text_of(one, "syscall"), "clone");
	ck_assert_str_eq(text_of(one, "arch"),
			 call_arch(&(struct seccomp_data){ .arch = CALL_NATIVE }));
	ck_assert_str_eq(text_of(one, "asks"), "CLONE_NEWUSER");
	args = cJSON_GetObjectItem(one, "args");
	ck_assert_int_eq(cJSON_GetArraySize(args), 6);
	ck_assert_str_eq(cJSON_GetArrayItem(args, 0)->valuestring, "0xff00000010000000");
	ck_assert_str_eq(cJSON_GetArrayItem(args, 1)->valuestring, "0x7");
	ck_assert_double_eq(number_of(one, "pid"), caller_pid);
	ck_assert_double_eq(number_of(one, "count"), 1);
	ck_assert_double_eq(number_of(one, "first_ms"), 1000);
	ck_assert_double_le(number_of(one, "first_ms"), number_of(one, "last_ms"));
	ck_assert(cJSON_IsTrue(cJSON_GetObjectItem(one, "violation")));
	ck_assert_str_eq(text_of(two, "syscall"), "#700");
	ck_assert(cJSON_IsNull(cJSON_GetObjectItem(two, "asks")));
	ck_assert(cJSON_IsFalse(cJSON_GetObjectItem(two, "violation")));
	cJSON_Delete(whole);

	whole = printed(false);
	ck_assert(cJSON_IsNull(whole));
	cJSON_Delete(whole);
	caller_heard.kinds = 0;
	whole = printed(true);
	ck_assert_int_eq(cJSON_GetArraySize(cJSON_GetObjectItem(whole, "list")), 0);
	cJSON_Delete(whole);
}
END_TEST

static void ck_learned(const char *want)
{
	cleanup_free char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	violation_learn(&caller_heard, &caller_plan, out);
	(void)fclose(out);
	ck_assert_str_eq(text, want);
}

static bool make_lesson(void)
{
	return caller_refused(SYS_sync, 0, 0) && caller_refused(SYS_sync, 0, 0) &&
	       caller_refused(SYS_ioctl, 0, 0x5452) &&
	       caller_refused(SYS_ioctl, 0, TIOCSTI) &&
	       caller_refused(SYS_personality, 0x440000, 0) &&
	       caller_refused(SYS_ptrace, 0, 0) && caller_refused(470, 0, 0);
}

START_TEST(it_prints_what_it_learned)
{
	caller_plan = (struct plan){ .learn = ANSWER_YES };
	caller_start(make_lesson);
	(void)caller_serve_all();
	caller_ends_with(0);
	ck_learned("# sync, 2 times: writes back every disk of the host: slows all its "
		   "users\n"
		   "allow-syscall sync\n"
		   "# ioctl, 1 time: not known to stepjail: read its manual page first\n"
		   "allow-syscall ioctl=0x5452\n"
		   "# ioctl (TIOCSTI), 1 time: types into the caller's terminal\n"
		   "#   no policy may allow it\n"
		   "# personality (ADDR_NO_RANDOMIZE|READ_IMPLIES_EXEC), 1 time: makes "
		   "data executable\n"
		   "#   no policy may allow it\n"
		   "# ptrace, 1 time: reads and changes other processes of the jail\n"
		   "allow-syscall ptrace\n"
		   "# #470, 1 time: not known to stepjail: read its manual page first\n"
		   "#   no policy may allow it\n");
}
END_TEST

static bool make_locked_lesson(void)
{
	return caller_refused(SYS_execve, 0, 0) && caller_refused(SYS_ptrace, 0, 0) &&
	       caller_refused(SYS_shmat, 0, 0);
}

/* what the lock refuses, a milder row of the same call must not offer */
START_TEST(the_lock_has_the_last_word)
{
	caller_plan = (struct plan){ .learn = ANSWER_YES, .lock_code = LOCK_YES };
	caller_start(make_locked_lesson);
	(void)caller_serve_all();
	caller_ends_with(0);
	ck_learned("# execve, 1 time: starts a program\n"
		   "#   --lock-code refuses it\n"
		   "# ptrace, 1 time: writes over code, whatever protects its pages\n"
		   "#   --lock-code refuses it\n"
		   "# shmat, 1 time: could map code\n"
		   "#   --lock-code refuses it\n"
		   "lock-code no\n");
}
END_TEST

START_TEST(nothing_is_learned_from_nothing)
{
	caller_plan = (struct plan){ .learn = ANSWER_YES };
	caller_heard = (struct violations){ .fd = -1 };
	ck_learned("# no system call was refused\n");
	caller_heard.total = caller_heard.beyond = 3;
	ck_learned("# and 3 calls of further kinds\n");
}
END_TEST

/* what is reserved for it is enough: a full disk loses no report */
START_TEST(the_longest_list_of_violations_has_room)
{
	static struct outcome o = { .started = true, .listened = true };
	const char *path = unit_path(unit_folder(), "long.json");
	const struct judgement j = {
		.verdict = VERDICT_VIOLATION, .exit_code = -1, .signal = 9, .status = 137
	};
	struct jail jail = JAIL_NONE;
	struct err e = { 0 };
	struct stat before, after;

	o.refused.kinds = VIOLATION_KINDS_MAX;
	o.refused.total = o.refused.beyond = UINT64_MAX;
	for (size_t i = 0; i < VIOLATION_KINDS_MAX; i++) {
		struct violation *k = &o.refused.kind[i];

		*k = (struct violation){ .first = { .nr = 444, .arch = CALL_NATIVE },
					 .pid = 4194304,
					 .first_ms = UINT64_MAX,
					 .last_ms = UINT64_MAX,
					 .count = UINT64_MAX };
		memset(k->first.args, 0xff, sizeof(k->first.args));
		memset(k->label, 'X', sizeof(k->label) - 1);
	}

	int fd = -1;

	ck_assert_int_eq(report_open(path, 0, &fd, &e), 0);
	ck_assert_int_eq(fstat(fd, &before), 0);
	ck_assert_int_eq(report_write(fd, &jail, &o, &j, &e), 0);
	ck_assert_int_eq(fstat(fd, &after), 0);
	(void)close(fd);
	ck_assert_int_gt(after.st_size, 32 * 300);
	if (before.st_blocks == 0)
		unit_skip("report: this file system reserves nothing");
	else
		ck_assert_int_le(after.st_size, before.st_blocks * 512);
}
END_TEST

Suite *jail_violation_print_suite(void)
{
	Suite *s = suite_create("jail violation print");
	TCase *c = tcase_create("print");

	tcase_set_timeout(c, 60);
	tcase_add_test(c, it_prints_as_json);
	tcase_add_test(c, it_prints_what_it_learned);
	tcase_add_test(c, the_lock_has_the_last_word);
	tcase_add_test(c, nothing_is_learned_from_nothing);
	tcase_add_test(c, the_longest_list_of_violations_has_room);
	suite_add_tcase(s, c);
	return s;
}
