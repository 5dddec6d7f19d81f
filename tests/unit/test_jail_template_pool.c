/* SPDX-License-Identifier: MIT */
/*
 * test_jail_template_pool.c - which template a jail is cloned from, when there is a new
 * one, and when an old one goes
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "jail/plan/option.h"
#include "jail/base/clock.h"
#include "jail/watch/startup.h"
#include "jail/serve/template/template.h"
#include "jail/serve/template/template_pool.h"
#include "tests/unit/played.h"
#include "tests/unit/suites.h"

static char *const words[] = { "/bin/interpreter", "--template", NULL };
static struct plan plan;
static struct parts parts;
static struct event_loop loop;
static struct template_pool pool;
static struct order order;
static int answers, answer; /* to orders, and the last of them */
static struct err e;

static void start(void)
{
	ck_assert_int_eq(option_parse(&plan, (char *[]){ NULL }, &e), 0);
	plan.rootfs = "core";
	plan.limit[LIMIT_TEMPLATE_CLONES] = plan.limit[LIMIT_TEMPLATE_MS] = NO_LIMIT;
	parts = (struct parts){ .plan = &plan };
	ck_assert_int_eq(event_loop_open(&loop, &e), 0);
}

static void begin(void)
{
	unit_lives_on();
	start();
	template_pool_open(&pool, &loop, &parts, words);
}

static void ready(int which)
{
	played_answer(which, 0, "");
	played_turn(&loop);
}

static void made(struct order *o, const struct err *why)
{
	ck_assert_ptr_eq(o, &order);
	answers++;
	answer = why ? -why->errnum : 0;
}

/* what a template says to a request */
static void say(struct template *whose, const struct err *why)
{
	whose->asked--;
	whose->made(whose, why);
}

static int ask(void)
{
	static struct jail j;

	j = JAIL_NONE;
	order = (struct order){ .jail = &j, .made = made };
	return template_pool_launch(&pool, &order, &e);
}

/* a session's; whom it is from */
static struct template *launch(bool warm)
{
	int before = warm ? played_warm : played_cold;
	int r = ask();

	ck_assert_msg(r >= 0, "%s", e.text);
	ck_assert_int_eq(r, warm);
	ck_assert_int_eq(order.jail->warm, warm);
	ck_assert_int_eq(warm ? played_warm : played_cold, before + 1);
	ck_assert_int_eq(order.from != NULL, warm);
	if (warm)
		say(order.from, NULL);
	return order.from;
}

static bool is_starting(void)
{
	return pool.next != NULL;
}

START_TEST(jails_are_cold_until_it_is_ready)
{
	begin();
	ck_assert_int_eq(played_templates, 1);
	ck_assert_str_eq(pool.why, "template: it is still starting");
	ck_assert(is_starting());
	template_pool_release(launch(false));
	/* its age wakes nobody */
	plan.limit[LIMIT_TEMPLATE_MS] = 3600000;
	ready(0);
	ck_assert_ptr_null(loop.bells);
	ck_assert(!is_starting());
	for (int i = 0; i < 5; i++)
		(void)launch(true);
	ck_assert_int_eq(played_templates, 1);
}
END_TEST

START_TEST(some_have_none)
{
	start();
	plan.cold = _i ? ANSWER_YES : ANSWER_NO;
	plan.rootfs = _i ? "core" : "/home/somebody/tree";
	template_pool_open(&pool, &loop, &parts, words);
	ck_assert_ptr_nonnull(strstr(pool.why, _i ? "--cold" : "root tree is a folder"));
	/* none is awaited */
	ck_assert(!is_starting());
	(void)launch(false);
	played_turn(&loop);
	ck_assert_int_eq(played_templates, 0);
	template_pool_close(&pool);
}
END_TEST

START_TEST(one_that_fails_is_not_tried_again_at_once)
{
	uint64_t begun_ms = clock_now_ms();

	unit_lives_on();
	start();
	played_refuses = -ENOSYS;
	template_pool_open(&pool, &loop, &parts, words);
	played_turn(&loop);
	ck_assert_str_eq(pool.why, "template: it is not played");
	ck_assert_uint_ge(pool.again_ms, begun_ms + 1000);
	ck_assert_uint_le(pool.again_ms, clock_now_ms() + 1000);
	/* however long the rest takes */
	pool.again_ms += 3600000;
	for (int i = 0; i < 3; i++)
		(void)launch(false);
	ck_assert(!is_starting());
	ck_assert_int_eq(played_templates, 1);

	played_refuses = 0;
	pool.again_ms = 0;
	(void)launch(false);
	ck_assert(is_starting());
	ck_assert_int_eq(played_templates, 2);
	ready(1);
	(void)launch(true);
}
END_TEST

START_TEST(one_that_says_why_it_cannot_is_ended)
{
	begin();
	played_answer(0, ENOENT, "no such module");
	played_turn(&loop);
	ck_assert_str_eq(pool.why, "no such module");
	ck_assert(played_gone(0));
	(void)launch(false);
	ck_assert_int_eq(played_templates, 1);
}
END_TEST

START_TEST(one_that_says_nothing_is_given_up)
{
	begin();
	/* the one bell that there is: its time is over */
	ck_assert_ptr_nonnull(loop.bells);
	ck_assert_uint_gt(loop.bells->at_ms, clock_now_ms() + STARTUP_MS - 10000);
	loop.bells->at_ms = 1;
	played_turn(&loop);
	ck_assert_str_eq(pool.why, "template: not ready within 30 s");
	ck_assert(played_gone(0));
	ck_assert_ptr_null(loop.bells);
}
END_TEST

START_TEST(the_old_one_serves_until_the_new_one_can)
{
	struct template *old;

	begin();
	plan.limit[LIMIT_TEMPLATE_CLONES] = 2;
	ready(0);
	old = launch(true);
	ck_assert_ptr_eq(launch(true), old);
	ck_assert_int_eq(played_templates, 1);
	/* so many it has made; a third one, and the next template starts */
	ck_assert_ptr_eq(launch(true), old);
	ck_assert_int_eq(played_templates, 2);
	ck_assert_ptr_eq(launch(true), old);
	ck_assert_int_eq(played_templates, 2);
	ck_assert(is_starting());
	ck_assert(!played_gone(0));

	ready(1);
	ck_assert(!is_starting());
	ck_assert_ptr_ne(launch(true), old);
	/* it ends with the last of its jails */
	for (int i = 0; i < 3; i++) {
		template_pool_release(old);
		played_turn(&loop);
		ck_assert(!played_gone(0));
	}
	template_pool_release(old);
	ck_assert(played_gone(0));
	played_turn(&loop);
	ck_assert(!played_gone(1));
	ck_assert_uint_eq(pool.count, 1);
}
END_TEST

START_TEST(one_without_jails_ends_when_it_is_replaced)
{
	begin();
	plan.limit[LIMIT_TEMPLATE_CLONES] = 1;
	ready(0);
	for (int i = 0; i < 2; i++)
		template_pool_release(launch(true));
	ck_assert(is_starting());
	ck_assert(!played_gone(0));
	ready(1);
	ck_assert(played_gone(0));
}
END_TEST

START_TEST(one_that_ends_is_replaced)
{
	struct template *old;

	begin();
	ready(0);
	old = launch(true);
	played_end(0);
	played_turn(&loop);
	ck_assert_ptr_nonnull(strstr(pool.why, "has ended"));
	/* its clones end with it */
	(void)launch(false);
	pool.again_ms = 0;
	(void)launch(false);
	ck_assert_int_eq(played_templates, 2);
	ready(1);
	(void)launch(true);
	template_pool_release(old);
	played_turn(&loop);
	(void)launch(true);
}
END_TEST

START_TEST(a_clone_that_failed_is_told_and_no_more)
{
	begin();
	ready(0);
	played_warm_refuses = -ENOSPC;
	ck_assert_int_eq(ask(), -ENOSPC);
	ck_assert_str_eq(e.text, "no clone is played");
	ck_assert_ptr_nonnull(order.from);
	template_pool_release(order.from);
	played_warm_refuses = 0;
	ck_assert_int_eq(ask(), 1);
	(void)err_say(&e, ENOSPC, "too many");
	say(order.from, &e);
	ck_assert(answers == 1 && answer == -ENOSPC);
	template_pool_release(order.from);
	(void)launch(true);
	ck_assert_int_eq(played_templates, 1);
}
END_TEST

START_TEST(one_that_does_not_answer_is_given_up)
{
	struct template *other;

	begin();
	ready(0);
	other = launch(true);
	ck_assert_int_eq(ask(), 1);
	/* the one bell that there is; nobody waits for it */
	ck_assert_ptr_nonnull(loop.bells);
	ck_assert_int_eq(answers, 1);
	loop.bells->at_ms = 1;
	played_turn(&loop);
	ck_assert(answers == 2 && answer == -ETIMEDOUT);
	ck_assert_str_eq(pool.why, "template: no answer within 5 s");
	template_pool_release(order.from);
	pool.again_ms += 3600000;
	(void)launch(false);
	played_turn(&loop);
	ck_assert(!played_gone(0));
	template_pool_release(other);
	played_turn(&loop);
	ck_assert(played_gone(0));
	ck_assert_uint_eq(pool.count, 0);
}
END_TEST

START_TEST(one_that_ends_answers_nobody)
{
	begin();
	ready(0);
	ck_assert_int_eq(ask(), 1);
	played_end(0);
	played_turn(&loop);
	ck_assert(answers == 1 && answer == -EPIPE);
}
END_TEST

START_TEST(one_that_is_too_old_is_replaced)
{
	const struct template *old;

	begin();
	plan.limit[LIMIT_TEMPLATE_MS] = 3600000;
	ready(0);
	/* its age is looked at when a jail is wanted, and wakes nobody */
	ck_assert_ptr_null(loop.bells);
	old = launch(true);
	ck_assert_int_eq(played_templates, 1);
	plan.limit[LIMIT_TEMPLATE_MS] = 0;
	ck_assert_ptr_eq(launch(true), old);
	ck_assert_int_eq(played_templates, 2);
	ready(1);
	ck_assert_ptr_ne(launch(true), old);
}
END_TEST

START_TEST(nothing_is_left)
{
	start();
	plan.limit[LIMIT_TEMPLATE_CLONES] = 1;
	plan.limit[LIMIT_TEMPLATE_MS] = 3600000;
	template_pool_open(&pool, &loop, &parts, words);
	if (_i > 0)
		ready(0);
	if (_i > 1)
		template_pool_release(launch(true));
	if (_i > 2)
		template_pool_release(launch(true));
	template_pool_close(&pool);
	for (int i = 0; i < played_templates; i++)
		ck_assert(played_gone(i));
	ck_assert_int_eq(played_templates, _i > 2 ? 2 : 1);
	played_turn(&loop);
	ck_assert_uint_eq(pool.count, 0);
	/* nor does a new one start */
	(void)launch(false);
	ck_assert_int_eq(played_templates, _i > 2 ? 2 : 1);
	ck_assert_ptr_null(loop.bells);
	for (int i = 0; i < played_templates; i++)
		played_end(i);
	(void)close(loop.epoll);
}
END_TEST

Suite *jail_template_pool_suite(void)
{
	Suite *s = suite_create("jail template pool");
	TCase *c = tcase_create("template pool");

	tcase_add_test(c, jails_are_cold_until_it_is_ready);
	tcase_add_loop_test(c, some_have_none, 0, 2);
	tcase_add_test(c, one_that_fails_is_not_tried_again_at_once);
	tcase_add_test(c, one_that_says_why_it_cannot_is_ended);
	tcase_add_test(c, one_that_says_nothing_is_given_up);
	tcase_add_test(c, the_old_one_serves_until_the_new_one_can);
	tcase_add_test(c, one_without_jails_ends_when_it_is_replaced);
	tcase_add_test(c, one_that_ends_is_replaced);
	tcase_add_test(c, a_clone_that_failed_is_told_and_no_more);
	tcase_add_test(c, one_that_does_not_answer_is_given_up);
	tcase_add_test(c, one_that_ends_answers_nobody);
	tcase_add_test(c, one_that_is_too_old_is_replaced);
	tcase_add_loop_test(c, nothing_is_left, 0, 4);
	suite_add_tcase(s, c);
	return s;
}
