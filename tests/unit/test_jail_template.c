/* SPDX-License-Identifier: MIT */
/*
 * test_jail_template.c - what the launcher tells a template, and what it takes from one
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "init/io.h"
#include "init/wire.h"
#include "jail/plan/option.h"
#include "jail/base/fd_passing.h"
#include "jail/walls/stage.h"
#include "jail/serve/template/template.h"
#include "jail/walls/warm.h"
#include "jail/walls/warm_plan.h"
#include "tests/unit/played.h"
#include "tests/unit/suites.h"
#include "tests/wire_recv.h"

#define HOST "/srv/of-the-host"

static char *const words[] = { "/bin/interpreter", "--template", NULL };
static struct plan plan;
static struct parts parts;
static struct template t;
static struct err e;

static void start(void)
{
	char *options[] = {
		"--rootfs=" HOST "/tree",           "--bind=" HOST "/data:/mnt/data",
		"--bind-rw=" HOST "/out:/work/out", "--env=NAME=value",
		"--report=" HOST "/report",         NULL
	};

	unit_lives_on();
	ck_assert_msg(option_parse(&plan, options, &e) == 0, "%s", e.text);
	plan.session = true;
	parts = (struct parts){ .plan = &plan, .landlock_abi = 5 };
	parts.sources.bind[0].name = "data.csv";
}

static void begin(void)
{
	start();
	ck_assert_msg(template_start(&t, &parts, words, STDERR_FILENO, &e) == 0, "%s",
		      e.text);
}

static void end(void)
{
	template_close(&t);
	launch_end(&t.up.jail);
}

static void ready(void)
{
	begin();
	played_answer(0, 0, "");
	ck_assert_int_eq(template_serve(&t, &e), 1);
}

START_TEST(it_is_told_the_plan)
{
	begin();

	cleanup_fd int memory = played_hello(0);
	const struct warm_plan *w = warm_plan_map(memory, &e);

	ck_assert_msg(w != NULL, "%s", e.text);
	ck_assert_uint_eq(w->landlock_abi, 5);
	ck_assert_uint_eq(w->bind_count, 2);
	ck_assert_str_eq(w->bind[0].name, "data.csv");
	ck_assert_str_eq(w->bind[0].dst, "/mnt/data");
	/* of a folder no name is needed */
	ck_assert_str_eq(w->bind[1].name, "");
	ck_assert_uint_eq(w->bind[1].writable, 1);
	/* its own jail's is marked, and the sessions' is as it was */
	ck_assert(t.plan.template && !t.plan.session && plan.session && !plan.template);
	ck_assert_ptr_eq(t.plan.argv, words);
	ck_assert_str_eq(plan.rootfs, HOST "/tree");
}
END_TEST

START_TEST(one_that_is_not_launched_is_told_of)
{
	int before;

	start();
	before = unit_fds();
	played_refuses = -EAGAIN;
	ck_assert_int_eq(template_start(&t, &parts, words, STDERR_FILENO, &e), -EAGAIN);
	ck_assert_str_eq(e.text, "template: it is not played");
	end();
	played_end(0);
	ck_assert_int_eq(unit_fds(), before);
}
END_TEST

START_TEST(it_is_ready_when_it_says_so)
{
	begin();
	ck_assert_int_eq(template_serve(&t, &e), 0);
	ck_assert_int_eq(template_serve(&t, &e), 0);
	played_answer(0, 0, "");
	ck_assert_int_eq(template_serve(&t, &e), 1);
	ck_assert_int_eq(template_serve(&t, &e), 1);
	/* it answers, and does not speak */
	played_answer(0, 0, "");
	ck_assert_int_eq(template_serve(&t, &e), -EPIPE);
	ck_assert_str_eq(e.text, "template: it speaks unasked, or has ended");
	ck_assert(!t.ready);
}
END_TEST

START_TEST(one_that_cannot_says_why)
{
	begin();
	played_answer(0, EACCES, "no module of that name");
	ck_assert_int_eq(template_serve(&t, &e), -EACCES);
	ck_assert_str_eq(e.text, "no module of that name");
	ck_assert(!t.ready);
}
END_TEST

START_TEST(an_answer_is_one_of_its_size)
{
	static const size_t sizes[] = { 1, sizeof(struct warm_answer) - 1,
					sizeof(struct warm_answer) + 1, 60000 };
	static char bytes[60000];

	begin();
	ck_assert_int_eq(send(played[0].channel, bytes, sizes[_i], 0),
			 (ssize_t)sizes[_i]);
	ck_assert_int_eq(template_serve(&t, &e), -EBADMSG);
}
END_TEST

START_TEST(its_words_have_an_end)
{
	struct warm_answer a = { .errnum = EPERM };

	begin();
	memset(a.text, 'x', sizeof(a.text));
	ck_assert_int_eq(fd_passing_send(played[0].channel, &a, sizeof(a), NULL, 0), 0);
	ck_assert_int_eq(template_serve(&t, &e), -EPERM);
	ck_assert_uint_eq(strlen(e.text), sizeof(a.text) - 1);
}
END_TEST

START_TEST(fds_that_nobody_asked_for_are_closed)
{
	const int fds[] = { 0, 1, 2 };
	struct warm_answer a = { 0 };
	int before;

	begin();
	before = unit_fds();
	ck_assert_int_eq(fd_passing_send(played[0].channel, &a, sizeof(a), fds, 3), 0);
	ck_assert_int_eq(template_serve(&t, &e), -EBADMSG);
	ck_assert_int_eq(unit_fds(), before);
}
END_TEST

static void say(uint16_t type, const void *payload, size_t length)
{
	ck_assert_int_eq(wire_send(played[0].control, type, 0, payload, length), 0);
}

START_TEST(its_init_says_that_it_runs)
{
	ready();
	say(WIRE_READY, NULL, 0);
	ck_assert_int_eq(template_serve(&t, &e), 1);
}
END_TEST

START_TEST(a_stage_that_failed_is_told)
{
	struct wire_fail fail = { .stage = 3, .errnum = _i ? 0 : ENOSYS };

	begin();
	memset(fail.text, 'f', sizeof(fail.text));
	say(WIRE_FAIL, &fail, sizeof(fail));
	ck_assert_int_eq(template_serve(&t, &e), _i ? -EPROTO : -ENOSYS);
	ck_assert_int_eq(strncmp(e.text, "template: fff", 13), 0);
}
END_TEST

START_TEST(whatever_else_its_init_says_is_its_end)
{
	static const struct {
		uint16_t type;
		size_t length;
		int errnum;
		const char *says;
	} rows[] = {
		{ WIRE_EXIT, sizeof(struct wire_exit), EPIPE, "the program has ended" },
		{ WIRE_EXIT, 0, EPIPE, "the program has ended" },
		{ WIRE_FAIL, sizeof(struct wire_fail) - 1, EBADMSG, "unexpected frame" },
		{ WIRE_READY, 1, EBADMSG, "unexpected frame" },
		{ WIRE_GO, 0, EBADMSG, "unexpected frame" },
		{ WIRE_DONE, sizeof(struct wire_done), EBADMSG, "unexpected frame" },
	};
	static const char nothing[sizeof(struct wire_fail)];

	ready();
	say(rows[_i].type, nothing, rows[_i].length);
	ck_assert_int_eq(template_serve(&t, &e), -rows[_i].errnum);
	ck_assert_ptr_nonnull(strstr(e.text, rows[_i].says));
	ck_assert(!t.ready);
}
END_TEST

START_TEST(bytes_that_are_no_frame_are_its_end)
{
	ready();
	ck_assert_int_eq(io_write_all(played[0].control, "GET / HTTP/1.0\r\n", 16), 0);
	ck_assert_int_eq(template_serve(&t, &e), -EBADMSG);
	ck_assert(!t.ready);
}
END_TEST

START_TEST(an_end_is_seen)
{
	ready();
	io_close_fd(_i ? &played[0].control : &played[0].channel);
	ck_assert_int_eq(template_serve(&t, &e), -EPIPE);
	ck_assert_ptr_nonnull(strstr(e.text, "has ended"));
	ck_assert(!t.ready);
}
END_TEST

START_TEST(its_gate_is_opened_once)
{
	struct wire_header h;

	begin();
	played_posture = 1;
	ck_assert_int_eq(wire_send(played[0].gate, WIRE_READY, 0, NULL, 0), 0);
	ck_assert_int_eq(template_serve(&t, &e), 0);
	/* when its init is ready, too, whichever is first */
	ck_assert_int_ge(t.up.jail.gate, 0);
	say(WIRE_READY, NULL, 0);
	ck_assert_int_eq(template_serve(&t, &e), 0);
	ck_assert_int_eq(t.up.jail.gate, -1);
	ck_assert_int_eq(wire_recv(played[0].gate, &h, NULL, 0), 0);
	ck_assert_uint_eq(h.type, WIRE_GO);
	played_answer(0, 0, "");
	ck_assert_int_eq(template_serve(&t, &e), 1);
}
END_TEST

START_TEST(one_that_lacks_a_wall_stays_at_its_gate)
{
	struct wire_header h;

	begin();
	played_posture = -EPERM;
	ck_assert_int_eq(wire_send(played[0].gate, WIRE_READY, 0, NULL, 0), 0);
	ck_assert_int_eq(template_serve(&t, &e), -EPERM);
	ck_assert_str_eq(e.text, "template: a wall is not played");
	ck_assert_int_eq(t.up.jail.gate, -1);
	ck_assert_int_lt(wire_recv(played[0].gate, &h, NULL, 0), 0);
	ck_assert(!t.ready);
}
END_TEST

START_TEST(nonsense_at_its_gate_is_its_end)
{
	begin();
	ck_assert_int_eq(wire_send(played[0].gate, WIRE_GO, 0, NULL, 0), 0);
	ck_assert_int_eq(template_serve(&t, &e), -EBADMSG);
	ck_assert_int_eq(t.up.jail.gate, -1);
}
END_TEST

START_TEST(age_is_of_clones_and_of_time)
{
	begin();
	t.clones = 9;
	ck_assert(!template_is_old(&t, NO_LIMIT, NO_LIMIT));
	ck_assert(!template_is_old(&t, 10, NO_LIMIT));
	ck_assert(template_is_old(&t, 9, NO_LIMIT));
	ck_assert(!template_is_old(&t, NO_LIMIT, 3600000));
	t.start_ms -= 3600000;
	ck_assert(template_is_old(&t, NO_LIMIT, 3600000));
	ck_assert(template_is_old(&t, 10, 3600000));
}
END_TEST

START_TEST(nothing_is_left_of_it)
{
	int before;

	start();
	before = unit_fds();
	ck_assert_int_eq(template_start(&t, &parts, words, STDERR_FILENO, &e), 0);
	played_answer(0, 0, "");
	ck_assert_int_eq(template_serve(&t, &e), 1);
	end();
	ck_assert(played_gone(0));
	played_end(0);
	ck_assert_int_eq(unit_fds(), before);
	ck_assert(!t.ready);
}
END_TEST

Suite *jail_template_suite(void)
{
	Suite *s = suite_create("jail template");
	TCase *c = tcase_create("template");

	tcase_add_test(c, it_is_told_the_plan);
	tcase_add_test(c, one_that_is_not_launched_is_told_of);
	tcase_add_test(c, it_is_ready_when_it_says_so);
	tcase_add_test(c, one_that_cannot_says_why);
	tcase_add_loop_test(c, an_answer_is_one_of_its_size, 0, 4);
	tcase_add_test(c, its_words_have_an_end);
	tcase_add_test(c, fds_that_nobody_asked_for_are_closed);
	tcase_add_test(c, its_init_says_that_it_runs);
	tcase_add_loop_test(c, a_stage_that_failed_is_told, 0, 2);
	tcase_add_loop_test(c, whatever_else_its_init_says_is_its_end, 0, 6);
	tcase_add_test(c, bytes_that_are_no_frame_are_its_end);
	tcase_add_loop_test(c, an_end_is_seen, 0, 2);
	tcase_add_test(c, its_gate_is_opened_once);
	tcase_add_test(c, one_that_lacks_a_wall_stays_at_its_gate);
	tcase_add_test(c, nonsense_at_its_gate_is_its_end);
	tcase_add_test(c, age_is_of_clones_and_of_time);
	tcase_add_test(c, nothing_is_left_of_it);
	suite_add_tcase(s, c);
	return s;
}
