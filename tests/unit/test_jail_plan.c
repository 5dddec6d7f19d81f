/* SPDX-License-Identifier: MIT */
/*
 * test_jail_plan.c - what a run shall be
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "jail/base/path.h"
#include "jail/plan/plan.h"
#include "tests/unit/suites.h"

/* its strings live as long as the process, so it must be reachable */
static struct plan plan;

static void start_plan(void)
{
	unit_lives_on();
	plan_init(&plan);
}

START_TEST(a_new_plan_is_strict)
{
	ck_assert_str_eq(plan.rootfs, "core");
	ck_assert_str_eq(plan.chdir, "/work");
	ck_assert_str_eq(plan.hostname, "stepjail");
	ck_assert_int_eq(plan.net, NET_NONE);
	ck_assert_int_eq(plan.proc, PROC_PID);
	ck_assert_uint_eq(plan.allow_missing, 0);
	ck_assert_ptr_null(plan.report);
	ck_assert_ptr_null(plan.argv);
	ck_assert_uint_eq(plan.bind_count, 0);
	/* the environment is these rows, whatever the caller's is */
	ck_assert_uint_eq(plan.env_count, 3);
	ck_assert_str_eq(plan.env[0], "PATH=/bin:/usr/bin");
	ck_assert_str_eq(plan.env[1], "HOME=/work");
	ck_assert_str_eq(plan.env[2], "LANG=C.UTF-8");
	ck_assert_ptr_null(plan.env[3]);
}
END_TEST

START_TEST(clean_paths_are_told_from_others)
{
	static const char *const clean[] = { "/",   "/a",   "/a/b", "/...", "/.a",
					     "/a.", "/..a", "/a..", "/a b", "/\xff/\n" };
	static const char *const unclean[] = { "",        "a",    "a/b",   "./a",
					       "..",      "//",   "/a/",   "/a//b",
					       "//a",     "/.",   "/..",   "/./a",
					       "/../a",   "/a/.", "/a/..", "/a/./b",
					       "/a/../b", " /a",  "/a/b/", "~/a" };

	for (size_t i = 0; i < COUNT(clean); i++)
		ck_assert_msg(path_is_clean(clean[i]), "'%s'", clean[i]);
	for (size_t i = 0; i < COUNT(unclean); i++)
		ck_assert_msg(!path_is_clean(unclean[i]), "'%s'", unclean[i]);
}
END_TEST

START_TEST(long_paths_are_not_clean)
{
	char path[PATH_MAX + 8];

	memset(path, 'n', sizeof(path));
	path[0] = '/';
	path[NAME_MAX + 1] = '\0';
	ck_assert(path_is_clean(path));
	path[NAME_MAX + 1] = 'n';
	path[NAME_MAX + 2] = '\0';
	ck_assert(!path_is_clean(path));

	for (size_t i = 0; i < sizeof(path); i++)
		path[i] = i % 2 ? 'n' : '/';
	path[PATH_MAX] = '\0';
	ck_assert(!path_is_clean(path));
	path[PATH_MAX - 2] = '\0'; /* PATH_MAX counts the NUL */
	ck_assert(path_is_clean(path));
}
END_TEST

START_TEST(binds_are_split_at_the_last_colon)
{
	struct err e;

	ck_assert_int_eq(plan_add_bind(&plan, "/src:/dst", false, &e), 0);
	ck_assert_int_eq(plan_add_bind(&plan, "a:b:c:/d/e", true, &e), 0);
	ck_assert_int_eq(plan_add_bind(&plan, "../x y:/work/z", false, &e), 0);
	ck_assert_uint_eq(plan.bind_count, 3);
	ck_assert_str_eq(plan.bind[0].src, "/src");
	ck_assert_str_eq(plan.bind[0].dst, "/dst");
	ck_assert(!plan.bind[0].writable);
	ck_assert_str_eq(plan.bind[1].src, "a:b:c");
	ck_assert_str_eq(plan.bind[1].dst, "/d/e");
	ck_assert(plan.bind[1].writable);
	ck_assert_str_eq(plan.bind[2].src, "../x y");
}
END_TEST

START_TEST(bad_binds_are_refused)
{
	static const struct {
		const char *spec, *says;
	} rows[] = {
		{ "", "SRC:DST" },
		{ "/a", "SRC:DST" },
		{ ":", "SRC:DST" },
		{ ":/a", "SRC:DST" },
		{ "/a:", "SRC:DST" },
		{ "/a:b", "absolute" },
		{ "/a:/b/..", "'..'" },
		{ "/a:/../b", "'..'" },
		{ "/a:/b/./c", "'.'" },
		{ "/a:/b//c", "'//'" },
		{ "/a:/b/", "absolute" },
		{ "/a:/", "--rootfs" },
		{ "/a:/proc", "/proc belongs to the jail" },
		{ "/a:/proc/x", "/proc belongs to the jail" },
		{ "/a:/proc/sys/kernel", "/proc belongs to the jail" },
		{ "/a:/dev", "/dev belongs to the jail" },
		{ "/a:/dev/sda", "/dev belongs to the jail" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct err e = { 0 };

		ck_assert_msg(plan_add_bind(&plan, rows[i].spec, true, &e) == -EINVAL,
			      "%s", rows[i].spec);
		ck_assert_msg(strstr(e.text, rows[i].says) != NULL, "%s: %s",
			      rows[i].spec, e.text);
		ck_assert_uint_eq(plan.bind_count, 0);
	}
}
END_TEST

START_TEST(names_near_reserved_ones_are_free)
{
	struct err e;

	ck_assert_int_eq(plan_add_bind(&plan, "/a:/process", false, &e), 0);
	ck_assert_int_eq(plan_add_bind(&plan, "/a:/device/x", false, &e), 0);
	ck_assert_int_eq(plan_add_bind(&plan, "/a:/x/proc", false, &e), 0);
	ck_assert_int_eq(plan_add_bind(&plan, "/a:/x/dev/null", false, &e), 0);
}
END_TEST

START_TEST(the_last_bind_of_a_destination_counts)
{
	struct err e;

	ck_assert_int_eq(plan_add_bind(&plan, "/a:/x", false, &e), 0);
	ck_assert_int_eq(plan_add_bind(&plan, "/b:/x", true, &e), 0);
	ck_assert_uint_eq(plan.bind_count, 1);
	ck_assert_str_eq(plan.bind[0].src, "/b");
	ck_assert_int_eq(plan_add_bind(&plan, "/a:/x/y", false, &e), 0);
	ck_assert_int_eq(plan_add_bind(&plan, "/a:/xy", false, &e), 0);
	ck_assert_uint_eq(plan.bind_count, 3);
}
END_TEST

START_TEST(binds_are_bounded)
{
	char spec[32];
	struct err e;

	for (unsigned int i = 0; i < PLAN_BINDS_MAX; i++) {
		(void)snprintf(spec, sizeof(spec), "/s:/d%u", i);
		/* a destination is not copied */
		ck_assert_int_eq(plan_add_bind(&plan, strdup(spec), false, &e), 0);
	}
	ck_assert_int_eq(plan_add_bind(&plan, "/s:/one/more", false, &e), -E2BIG);
	ck_assert_uint_eq(plan.bind_count, PLAN_BINDS_MAX);
}
END_TEST

START_TEST(variables_are_replaced)
{
	struct err e;

	ck_assert_int_eq(plan_add_env(&plan, "HOME=/tmp", &e), 0);
	ck_assert_uint_eq(plan.env_count, 3);
	ck_assert_str_eq(plan.env[1], "HOME=/tmp");
	ck_assert_int_eq(plan_add_env(&plan, "HOME=/x", &e), 0);
	ck_assert_str_eq(plan.env[1], "HOME=/x");
	ck_assert_uint_eq(plan.env_count, 3);
}
END_TEST

START_TEST(variables_are_added)
{
	struct err e;

	ck_assert_int_eq(plan_add_env(&plan, "A=1", &e), 0);
	ck_assert_int_eq(plan_add_env(&plan, "AB=x=y=z", &e), 0);
	ck_assert_int_eq(plan_add_env(&plan, "EMPTY=", &e), 0);
	ck_assert_int_eq(plan_add_env(&plan, "HOMER=doh", &e), 0);
	ck_assert_uint_eq(plan.env_count, 7);
	ck_assert_str_eq(plan.env[4], "AB=x=y=z");
	ck_assert_ptr_null(plan.env[7]);
	ck_assert_int_eq(plan_add_env(&plan, "EMPTY=x", &e), 0);
	ck_assert_uint_eq(plan.env_count, 7);
	ck_assert_str_eq(plan.env[3], "A=1");
	ck_assert_str_eq(plan.env[5], "EMPTY=x");
}
END_TEST

START_TEST(bad_variables_are_refused)
{
	static const char *const rows[] = { "", "A", "=", "=x", "no equals sign" };

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct err e = { 0 };

		ck_assert_int_eq(plan_add_env(&plan, rows[i], &e), -EINVAL);
		ck_assert_ptr_nonnull(strstr(e.text, "KEY=VALUE"));
		ck_assert_uint_eq(plan.env_count, 3);
	}
}
END_TEST

START_TEST(variables_are_bounded)
{
	struct err e;

	for (unsigned int i = 3; i < PLAN_ENV_MAX; i++) {
		char spec[32];

		(void)snprintf(spec, sizeof(spec), "V%u=1", i);
		/* kept, not copied; reachable through the plan */
		ck_assert_int_eq(plan_add_env(&plan, strdup(spec), &e), 0);
	}
	ck_assert_int_eq(plan_add_env(&plan, "ONE=more", &e), -E2BIG);
	ck_assert_uint_eq(plan.env_count, PLAN_ENV_MAX);
	ck_assert_ptr_null(plan.env[PLAN_ENV_MAX]);
}
END_TEST

static int validate(uint64_t wall_ms, uint64_t cpu_ms, uint64_t cpus_milli, struct err *e)
{
	plan.limit[LIMIT_WALL_MS] = wall_ms;
	plan.limit[LIMIT_CPU_MS] = cpu_ms;
	plan.limit[LIMIT_CPUS_MILLI] = cpus_milli;
	return plan_complete(&plan, e);
}

START_TEST(contradictions_are_refused)
{
	struct err e = { 0 };

	ck_assert_int_eq(validate(NO_LIMIT, NO_LIMIT, NO_LIMIT, &e), 0);
	ck_assert_int_eq(validate(10000, 10000, 1000, &e), 0);
	ck_assert_int_eq(validate(10000, 19000, 2000, &e), 0);
	/* any one of the three without a limit takes the contradiction away */
	ck_assert_int_eq(validate(NO_LIMIT, 90000, 1000, &e), 0);
	ck_assert_int_eq(validate(10000, NO_LIMIT, 1000, &e), 0);
	ck_assert_int_eq(validate(10000, 90000, NO_LIMIT, &e), 0);
	ck_assert_int_eq(validate(10000, 90000, 1000, &e), -EINVAL);
	ck_assert_int_eq(strncmp(e.text, "--cpu-time ", 11), 0);
	ck_assert_int_eq(validate(10000, 10000, 250, &e), -EINVAL);
	ck_assert_int_eq(validate(10000, 60000, 2000, &e), -EINVAL);
}
END_TEST

/* what plan_init() made is a plan like any other */
START_TEST(a_new_plan_is_valid)
{
	struct err e;

	ck_assert_int_eq(plan_complete(&plan, &e), 0);
}
END_TEST

START_TEST(chdir_must_be_clean)
{
	static const char *const rows[] = { "", "work", "/work/..", "/work/", "//" };

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct err e = { 0 };

		plan.chdir = rows[i];
		ck_assert_int_eq(validate(NO_LIMIT, NO_LIMIT, NO_LIMIT, &e), -EINVAL);
		ck_assert_int_eq(strncmp(e.text, "--chdir: ", 9), 0);
	}
	plan.chdir = "/";
	ck_assert_int_eq(validate(NO_LIMIT, NO_LIMIT, NO_LIMIT, &(struct err){ 0 }), 0);
}
END_TEST

Suite *jail_plan_suite(void)
{
	Suite *s = suite_create("jail plan");
	TCase *c = tcase_create("plan");

	tcase_add_checked_fixture(c, start_plan, NULL);
	tcase_add_test(c, a_new_plan_is_strict);
	tcase_add_test(c, clean_paths_are_told_from_others);
	tcase_add_test(c, long_paths_are_not_clean);
	tcase_add_test(c, binds_are_split_at_the_last_colon);
	tcase_add_test(c, bad_binds_are_refused);
	tcase_add_test(c, names_near_reserved_ones_are_free);
	tcase_add_test(c, the_last_bind_of_a_destination_counts);
	tcase_add_test(c, binds_are_bounded);
	tcase_add_test(c, variables_are_replaced);
	tcase_add_test(c, variables_are_added);
	tcase_add_test(c, bad_variables_are_refused);
	tcase_add_test(c, variables_are_bounded);
	tcase_add_test(c, contradictions_are_refused);
	tcase_add_test(c, a_new_plan_is_valid);
	tcase_add_test(c, chdir_must_be_clean);
	suite_add_tcase(s, c);
	return s;
}
