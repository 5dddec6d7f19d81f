/* SPDX-License-Identifier: MIT */
/*
 * test_jail_plan_io.c - the words of --io-max
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "jail/plan/plan.h"
#include "tests/unit/suites.h"

static struct plan plan;

static void make_plan(void)
{
	plan_init(&plan);
}

START_TEST(rates_are_read)
{
	struct err e = { 0 };
	const struct plan_io *io = plan.io;

	ck_assert_int_eq(plan_add_io(&plan, "/var/tmp wbps=8M", &e), 0);
	ck_assert_int_eq(plan_add_io(&plan, "8:0\twiops=4  riops=3 wbps=2K rbps=1", &e),
			 0);
	ck_assert_uint_eq(plan.io_count, 2);
	ck_assert_int_eq(io[0].device_length, 8);
	ck_assert_str_eq(io[0].spec, "/var/tmp wbps=8M");
	ck_assert_uint_eq(io[0].rate[RATE_WBPS], 8 << 20);
	ck_assert_uint_eq(io[0].rate[RATE_RBPS], NO_LIMIT);
	ck_assert_uint_eq(io[0].rate[RATE_RIOPS], NO_LIMIT);
	ck_assert_uint_eq(io[0].rate[RATE_WIOPS], NO_LIMIT);
	ck_assert_int_eq(io[1].device_length, 3);
	ck_assert_uint_eq(io[1].rate[RATE_RBPS], 1);
	ck_assert_uint_eq(io[1].rate[RATE_WBPS], 2048);
	ck_assert_uint_eq(io[1].rate[RATE_RIOPS], 3);
	ck_assert_uint_eq(io[1].rate[RATE_WIOPS], 4);
}
END_TEST

START_TEST(junk_is_refused)
{
	static const struct {
		const char *spec;
		int r;
	} rows[] = {
		{ "/dev/sda", -EINVAL },
		{ "/dev/sda ", -EINVAL },
		{ "rbps=1", -EINVAL }, /* a device of that name, held to nothing */
		{ " rbps=1", -EINVAL },
		{ "/dev/sda rbps", -EINVAL },
		{ "/dev/sda rbps=", -EINVAL },
		{ "/dev/sda rbps=max", -EINVAL },
		{ "/dev/sda rbps=-1", -EINVAL },
		{ "/dev/sda bps=1", -EINVAL },
		{ "/dev/sda RBPS=1", -EINVAL },
		{ "/dev/sda rbps=1,wbps=1", -EINVAL },
		{ "/dev/sda riops=1K", -EINVAL }, /* a count has no unit */
		{ "/dev/sda rbps=1 x", -EINVAL },
		{ "/dev/sda rbps=0", -ERANGE },
		{ "/dev/sda rbps=2T", -ERANGE },
		{ "/dev/sda riops=4294967295", -ERANGE },
		{ "/dev/sda wiops=4294967295", -ERANGE }, /* io.max takes it for none */
		{ "/dev/sda rbps=1 rbps=1", -EEXIST },
	};
	struct err e = { 0 };

	for (size_t i = 0; i < COUNT(rows); i++) {
		int r = plan_add_io(&plan, rows[i].spec, &e);

		ck_assert_msg(r == rows[i].r, "'%s': %d, %s", rows[i].spec, r, e.text);
		ck_assert_int_eq(e.errnum, -r);
	}
	ck_assert_uint_eq(plan.io_count, 0);
}
END_TEST

START_TEST(there_are_so_many_and_no_more)
{
	struct err e = { 0 };

	static char specs[PLAN_IO_MAX + 1][32];

	for (int i = 0; i <= PLAN_IO_MAX; i++)
		(void)snprintf(specs[i], sizeof(specs[i]), "/d%d rbps=1", i);
	ck_assert_int_eq(plan_add_io(&plan, specs[0], &e), 0);
	ck_assert_int_eq(plan_add_io(&plan, "/d0 wbps=1", &e), 0);
	ck_assert_uint_eq(plan.io_count, 1);
	ck_assert_uint_eq(plan.io[0].rate[RATE_WBPS], 1);
	ck_assert_uint_eq(plan.io[0].rate[RATE_RBPS], NO_LIMIT);
	ck_assert_int_eq(plan_add_io(&plan, "/d rbps=1", &e), 0);
	for (int i = 1; i < PLAN_IO_MAX - 1; i++)
		ck_assert_int_eq(plan_add_io(&plan, specs[i], &e), 0);
	ck_assert_int_eq(plan_add_io(&plan, specs[PLAN_IO_MAX], &e), -E2BIG);
	ck_assert_uint_eq(plan.io_count, PLAN_IO_MAX);
}
END_TEST

Suite *jail_plan_io_suite(void)
{
	Suite *s = suite_create("jail plan io");
	TCase *c = tcase_create("plan io");

	tcase_add_checked_fixture(c, make_plan, NULL);
	tcase_add_test(c, rates_are_read);
	tcase_add_test(c, junk_is_refused);
	tcase_add_test(c, there_are_so_many_and_no_more);
	suite_add_tcase(s, c);
	return s;
}
