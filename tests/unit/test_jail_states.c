/* SPDX-License-Identifier: MIT */
/*
 * test_jail_states.c - which states a session keeps, and where its branches are
 */
#include <errno.h>
#include <string.h>

#include "jail/plan/plan.h"
#include "jail/serve/rules/states.h"
#include "tests/unit/suites.h"

static struct states table;
static struct state state[STATES_MAX + 1];

/* 0, and 1 to @last, each made from the one before, on branch 0 */
static void line(uint32_t last)
{
	memset(&table, 0, sizeof(table));
	memset(state, 0, sizeof(state));
	for (uint32_t i = 0; i <= last; i++) {
		state[i].number = i;
		state[i].parent = i ? i - 1 : 0;
		state[i].pid = (pid_t)(100 + i);
		ck_assert_int_eq(states_add(&table, &state[i]), 0);
	}
	ck_assert_int_eq(states_fork(&table, 0, last), 0);
}

static unsigned int end_unreachable(void)
{
	unsigned int n = 0;

	for (struct state *s; (s = states_unreachable(&table)); n++)
		states_end(&table, s);
	return n;
}

START_TEST(a_state_is_found_until_it_is_told_to_end)
{
	line(3);
	ck_assert_ptr_eq(states_find(&table, 2), &state[2]);
	ck_assert_ptr_null(states_find(&table, 4));
	states_end(&table, &state[2]);
	ck_assert_ptr_null(states_find(&table, 2));
	/* its process is still there */
	ck_assert_uint_eq(table.count, 4);
	ck_assert_ptr_eq(table.state[2], &state[2]);
	states_remove(&table, &state[2]);
	ck_assert_uint_eq(table.count, 3);
	ck_assert_ptr_eq(table.state[2], &state[3]);
}
END_TEST

START_TEST(snapshots_alone_count)
{
	line(3);
	for (uint32_t i = 0; i <= 3; i++)
		state[i].bytes = 5 + i;
	/* neither state 0 nor the head */
	ck_assert_uint_eq(states_bytes(&table), 6 + 7);
	states_end(&table, &state[1]);
	ck_assert_uint_eq(states_bytes(&table), 7);
}
END_TEST

START_TEST(rollback_leaves_what_no_branch_comes_from)
{
	line(5);
	ck_assert_uint_eq(end_unreachable(), 0);
	states_branch(&table, 0)->head = 2;
	ck_assert_uint_eq(end_unreachable(), 3);
	for (uint32_t i = 0; i <= 5; i++)
		ck_assert_int_eq(state[i].ending, i > 2);
	/* state 0 stays whatever happens */
	states_branch(&table, 0)->head = 0;
	ck_assert_uint_eq(end_unreachable(), 2);
	ck_assert(!state[0].ending);
	/* not even where nobody comes from anywhere */
	states_branch(&table, 0)->head = 77;
	ck_assert_uint_eq(end_unreachable(), 0);
}
END_TEST

START_TEST(a_branch_holds_what_it_comes_from)
{
	line(5);
	ck_assert_int_eq(states_fork(&table, 7, 4), 0);
	states_branch(&table, 0)->head = 1;
	ck_assert_uint_eq(end_unreachable(), 1);
	ck_assert(state[5].ending && !state[4].ending && !state[2].ending);
	states_drop(&table, states_branch(&table, 7));
	ck_assert_ptr_null(states_branch(&table, 7));
	ck_assert_ptr_nonnull(states_branch(&table, 0));
	ck_assert_uint_eq(end_unreachable(), 3);
	ck_assert(!state[1].ending && state[2].ending);
}
END_TEST

START_TEST(the_oldest_snapshots_go_first)
{
	line(6);
	/* 1 to 5 are snapshots: 6 is where the branch is, and 0 is not counted */
	ck_assert_ptr_null(states_beyond(&table, 5));
	ck_assert_ptr_eq(states_beyond(&table, 4), &state[1]);
	states_end(&table, &state[1]);
	ck_assert_ptr_null(states_beyond(&table, 4));
	ck_assert_ptr_eq(states_beyond(&table, 3), &state[2]);
	states_end(&table, &state[2]);
	/* and those behind them can still be gone back to */
	ck_assert_uint_eq(state[3].parent, 0);
	states_branch(&table, 0)->head = 3;
	ck_assert_uint_eq(end_unreachable(), 3);
	ck_assert_ptr_null(states_beyond(&table, 0));
}
END_TEST

START_TEST(another_branch_is_at_no_snapshot)
{
	line(3);
	for (uint32_t i = 0; i <= 3; i++)
		state[i].bytes = 10u << i;
	ck_assert_uint_eq(states_bytes(&table), 20 + 40);
	ck_assert_int_eq(states_fork(&table, 1, 1), 0);
	ck_assert_uint_eq(states_bytes(&table), 40);
	ck_assert_ptr_eq(states_beyond(&table, 0), &state[2]);
	states_end(&table, &state[2]);
	ck_assert_uint_eq(states_bytes(&table), 0);
}
END_TEST

START_TEST(a_branch_whose_state_ended_by_itself_is_lost)
{
	line(3);
	ck_assert_int_eq(states_fork(&table, 1, 1), 0);
	states_lose(&table, &state[3]);
	ck_assert(states_branch(&table, 0)->lost && !states_branch(&table, 1)->lost);
	/* and it is where that came from */
	ck_assert_uint_eq(states_branch(&table, 0)->head, 2);
	ck_assert_uint_eq(end_unreachable(), 0);
	/* a snapshot's end loses nothing but the way there */
	states_lose(&table, &state[1]);
	ck_assert_uint_eq(state[2].parent, 0);
	ck_assert(states_branch(&table, 1)->lost);
	ck_assert_uint_eq(states_branch(&table, 1)->head, 0);
}
END_TEST

START_TEST(one_that_was_told_to_end_loses_nothing)
{
	line(2);
	states_branch(&table, 0)->head = 1;
	ck_assert_uint_eq(end_unreachable(), 1);
	states_lose(&table, &state[2]);
	ck_assert(!states_branch(&table, 0)->lost);
	ck_assert_uint_eq(states_branch(&table, 0)->head, 1);
}
END_TEST

START_TEST(both_tables_have_an_end)
{
	line(STATES_MAX - 1);
	ck_assert_int_eq(states_add(&table, &state[STATES_MAX]), -E2BIG);
	for (uint32_t i = 1; i < BRANCHES_MAX; i++)
		ck_assert_int_eq(states_fork(&table, i, 0), 0);
	ck_assert_int_eq(states_fork(&table, BRANCHES_MAX, 0), -E2BIG);
	ck_assert_ptr_null(states_branch(&table, BRANCHES_MAX));
	/* room for what is kept, for every branch, and for as many that are ending */
	_Static_assert(PLAN_KEEP_STATES_MAX + BRANCHES_MAX < STATES_MAX,
		       "some are ending");
}
END_TEST

/* what a hostile parent's number could make of it */
START_TEST(a_line_that_goes_round_ends)
{
	line(3);
	state[2].parent = 3;
	state[3].parent = 2;
	ck_assert_uint_le(end_unreachable(), 4);
}
END_TEST

Suite *jail_states_suite(void)
{
	Suite *s = suite_create("jail/states");
	TCase *c = tcase_create("states");

	tcase_add_test(c, a_state_is_found_until_it_is_told_to_end);
	tcase_add_test(c, snapshots_alone_count);
	tcase_add_test(c, rollback_leaves_what_no_branch_comes_from);
	tcase_add_test(c, a_branch_holds_what_it_comes_from);
	tcase_add_test(c, the_oldest_snapshots_go_first);
	tcase_add_test(c, another_branch_is_at_no_snapshot);
	tcase_add_test(c, a_branch_whose_state_ended_by_itself_is_lost);
	tcase_add_test(c, one_that_was_told_to_end_loses_nothing);
	tcase_add_test(c, both_tables_have_an_end);
	tcase_add_test(c, a_line_that_goes_round_ends);
	suite_add_tcase(s, c);
	return s;
}
