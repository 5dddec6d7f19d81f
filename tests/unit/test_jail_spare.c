/* SPDX-License-Identifier: MIT */
/*
 * test_jail_spare.c - when a jail that nobody has asked for yet is made, and when one
 * goes
 */
#include "jail/serve/rules/spare.h"
#include "tests/unit/suites.h"

/* with nothing in the way of making one */
static const struct spare_sight clear = {
	.now_ms = 1000, .want = 2, .have = 1, .template = true, .began_ms = 998
};

START_TEST(one_that_is_missing_is_made)
{
	struct spare_sight v = clear;

	ck_assert_uint_eq(spare_when(&v), 0);
	v.have = 0;
	ck_assert_uint_eq(spare_when(&v), 0);
	v.have = 2;
	ck_assert_uint_eq(spare_when(&v), SPARE_NEVER);
	v.have = 3;
	ck_assert_uint_eq(spare_when(&v), SPARE_NEVER);
	v.want = v.have = 0;
	ck_assert_uint_eq(spare_when(&v), SPARE_NEVER);
}
END_TEST

START_TEST(it_waits_for_jails_that_are_on_their_way)
{
	struct spare_sight v = clear;

	v.starting = 1;
	ck_assert_uint_eq(spare_when(&v), SPARE_NEVER);
	v = clear;
	v.template = false;
	ck_assert_uint_eq(spare_when(&v), SPARE_NEVER);
}
END_TEST

START_TEST(a_step_that_has_just_begun_is_left_alone)
{
	struct spare_sight v = clear;

	v.steps = 1;
	ck_assert_uint_eq(spare_when(&v), 998 + SPARE_QUIET_MS);
	v.now_ms = 998 + SPARE_QUIET_MS - 1;
	ck_assert_uint_eq(spare_when(&v), 998 + SPARE_QUIET_MS);
	v.now_ms++;
	ck_assert_uint_eq(spare_when(&v), 0);
}
END_TEST

START_TEST(a_step_is_not_left_alone_where_none_is_left)
{
	struct spare_sight v = clear;

	v.steps = 1;
	v.have = 0;
	ck_assert_uint_eq(spare_when(&v), 0);
	/* that there is none means nothing then */
	v.want = 1;
	ck_assert_uint_eq(spare_when(&v), 998 + SPARE_QUIET_MS);
}
END_TEST

START_TEST(after_a_failure_it_waits)
{
	struct spare_sight v = clear;

	v.again_ms = 1200;
	ck_assert_uint_eq(spare_when(&v), 1200);
	v.steps = 1;
	ck_assert_uint_eq(spare_when(&v), 1200);
	v.steps = 0;
	v.now_ms = 1200;
	ck_assert_uint_eq(spare_when(&v), 0);
}
END_TEST

Suite *jail_spare_suite(void)
{
	Suite *s = suite_create("jail spare");
	TCase *t = tcase_create("all");

	tcase_add_test(t, one_that_is_missing_is_made);
	tcase_add_test(t, it_waits_for_jails_that_are_on_their_way);
	tcase_add_test(t, a_step_that_has_just_begun_is_left_alone);
	tcase_add_test(t, a_step_is_not_left_alone_where_none_is_left);
	tcase_add_test(t, after_a_failure_it_waits);
	suite_add_tcase(s, t);
	return s;
}
