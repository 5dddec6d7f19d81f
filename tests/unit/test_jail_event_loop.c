/* SPDX-License-Identifier: MIT */
/*
 * test_jail_event_loop.c - one loop over fds and deadlines
 */
#include <sys/eventfd.h>
#include <unistd.h>

#include "jail/base/event_loop.h"
#include "jail/base/clock.h"
#include "tests/unit/suites.h"

static struct event_loop loop;
static struct err e;
static int served, rung, acted;

static void open_loop(void)
{
	served = rung = acted = 0;
	ck_assert_int_eq(event_loop_open(&loop, &e), 0);
}

static void take(struct port *p)
{
	eventfd_t n;

	ck_assert(p->came & EPOLLIN);
	ck_assert_int_eq(eventfd_read(p->fd, &n), 0);
	served++;
}

/* the other one's event of this turn comes too late */
static void close_other(struct port *p)
{
	served++;
	event_loop_close(&loop, p->owner);
	event_loop_close(&loop, p);
}

static void count(struct bell *b)
{
	ck_assert_uint_eq(b->at_ms, 0);
	rung++;
}

static void act(void *owner)
{
	ck_assert_ptr_eq(owner, &loop);
	acted++;
}

START_TEST(a_port_is_served_while_it_is_listened_to)
{
	struct port p = PORT(eventfd(1, EFD_CLOEXEC), take, NULL);
	struct bell soon = { .ring = count };

	open_loop();
	ck_assert_int_eq(event_loop_listen(&loop, &p, EPOLLIN), 0);
	ck_assert_int_eq(event_loop_turn(&loop, &e), 0);
	ck_assert_int_eq(served, 1);
	ck_assert_int_eq(eventfd_write(p.fd, 1), 0);
	ck_assert_int_eq(event_loop_listen(&loop, &p, 0), 0);
	event_loop_set(&loop, &soon, clock_now_ms());
	ck_assert_int_eq(event_loop_turn(&loop, &e), 0);
	ck_assert_int_eq(served, 1);
	ck_assert_int_eq(rung, 1);
	ck_assert_int_eq(event_loop_listen(&loop, &p, EPOLLIN), 0);
	ck_assert_int_eq(event_loop_turn(&loop, &e), 0);
	ck_assert_int_eq(served, 2);
	event_loop_close(&loop, &p);
	event_loop_close(&loop, &p);
	(void)close(loop.epoll);
}
END_TEST

START_TEST(a_port_that_was_closed_in_this_turn_is_not_served)
{
	struct port a = PORT(eventfd(1, EFD_CLOEXEC), close_other, NULL);
	struct port b = PORT(eventfd(1, EFD_CLOEXEC), close_other, &a);

	a.owner = &b;
	open_loop();
	ck_assert_int_eq(event_loop_listen(&loop, &a, EPOLLIN), 0);
	ck_assert_int_eq(event_loop_listen(&loop, &b, EPOLLIN), 0);
	ck_assert_int_eq(event_loop_turn(&loop, &e), 0);
	ck_assert_int_eq(served, 1);
	(void)close(loop.epoll);
}
END_TEST

START_TEST(a_copy_elsewhere_does_not_keep_a_closed_port)
{
	struct port p = PORT(eventfd(1, EFD_CLOEXEC), take, NULL);
	struct bell soon = { .ring = count };
	int copy = dup(p.fd);

	open_loop();
	ck_assert_int_eq(event_loop_listen(&loop, &p, EPOLLIN), 0);
	event_loop_close(&loop, &p);
	event_loop_set(&loop, &soon, clock_now_ms() + 1);
	while (!rung)
		ck_assert_int_eq(event_loop_turn(&loop, &e), 0);
	ck_assert_int_eq(served, 0);
	(void)close(copy);
	(void)close(loop.epoll);
}
END_TEST

START_TEST(bells_ring_once_and_in_any_number)
{
	struct bell bells[4] = {
		{ .ring = count }, { .ring = count }, { .ring = count }, { .ring = count }
	};
	uint64_t now = clock_now_ms();

	open_loop();
	for (int i = 0; i < 4; i++)
		event_loop_set(&loop, &bells[i], now + (i == 3 ? 3600000 : 1));
	/* the last word holds, wherever in the list it is */
	event_loop_set(&loop, &bells[1], now + 2);
	event_loop_unset(&loop, &bells[2]);
	event_loop_unset(&loop, &bells[2]);
	while (rung < 2)
		ck_assert_int_eq(event_loop_turn(&loop, &e), 0);
	ck_assert_uint_ge(clock_now_ms(), now + 2);
	ck_assert_ptr_eq(loop.bells, &bells[3]);
	ck_assert_ptr_null(bells[3].next);
	event_loop_unset(&loop, &bells[3]);
	ck_assert_ptr_null(loop.bells);
	(void)close(loop.epoll);
}
END_TEST

START_TEST(what_is_put_off_is_done_when_the_turn_is_over)
{
	struct bell soon = { .ring = count };
	struct later l;

	open_loop();
	event_loop_later(&loop, &l, act, &loop);
	ck_assert_int_eq(acted, 0);
	event_loop_set(&loop, &soon, 1);
	ck_assert_int_eq(event_loop_turn(&loop, &e), 0);
	ck_assert_int_eq(acted, 1);
	event_loop_set(&loop, &soon, 1);
	ck_assert_int_eq(event_loop_turn(&loop, &e), 0);
	ck_assert_int_eq(acted, 1);
	(void)close(loop.epoll);
}
END_TEST

Suite *jail_event_loop_suite(void)
{
	Suite *s = suite_create("jail event loop");
	TCase *c = tcase_create("event loop");

	tcase_add_test(c, a_port_is_served_while_it_is_listened_to);
	tcase_add_test(c, a_port_that_was_closed_in_this_turn_is_not_served);
	tcase_add_test(c, a_copy_elsewhere_does_not_keep_a_closed_port);
	tcase_add_test(c, bells_ring_once_and_in_any_number);
	tcase_add_test(c, what_is_put_off_is_done_when_the_turn_is_over);
	suite_add_tcase(s, c);
	return s;
}
