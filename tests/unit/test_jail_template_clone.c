/* SPDX-License-Identifier: MIT */
/*
 * test_jail_template_clone.c - what a template is asked for a clone, and lent for it
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "jail/plan/option.h"
#include "jail/base/fd_passing.h"
#include "jail/walls/stage.h"
#include "jail/serve/template/template.h"
#include "jail/walls/warm.h"
#include "tests/unit/played.h"
#include "tests/unit/suites.h"

static struct plan plan;
static struct parts parts;
static struct template t;
static struct err e;

static void begin(void)
{
	static char *const words[] = { "/bin/interpreter", NULL };

	unit_lives_on();
	ck_assert_int_eq(option_parse(&plan, (char *[]){ NULL }, &e), 0);
	plan.session = true;
	parts = (struct parts){ .plan = &plan };
	ck_assert_msg(template_start(&t, &parts, words, STDERR_FILENO, &e) == 0, "%s",
		      e.text);
}

static void ready(void)
{
	begin();
	played_answer(0, 0, "", NULL);
	ck_assert_int_eq(template_serve(&t, &e), 1);
}

/* a folder with a cgroup.procs in it */
static int leaf(const char *folder)
{
	(void)unit_file(folder, "cgroup.procs", "", 0);
	return open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static uid_t owner(int folder)
{
	struct stat st;

	ck_assert_int_eq(fstatat(folder, "cgroup.procs", &st, 0), 0);
	return st.st_uid;
}

/* what it was asked for, and how many fds came along */
static int take_request(struct warm_request *q)
{
	int fds[WARM_FDS_MAX];

	return fd_passing_receive(played[0].channel, q, sizeof(*q), fds, WARM_FDS_MAX);
}

START_TEST(a_clone_is_asked_for_with_its_fds)
{
	bool own = _i & 1, limited = _i & 2;
	int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
	struct jail j = JAIL_NONE;
	struct child c = { .stdio = (int[]){ 0, 0, -1 } };
	struct warm_request q;

	if (own && limited && geteuid() != 0) {
		unit_skip("template: a leaf is given away by root alone");
		return;
	}
	ready();
	(void)close(played_hello(0));
	j.plan = &plan;
	j.limited = limited;
	j.cgroup.leaf = leaf(unit_folder());
	/* any fd will do for the slot */
	j.ids = (struct ids){ own, dup(self), 5000, 22, 3, 4, false };
	t.jail.ids = (struct ids){ own, -1, 6000, 6000, 0, 1000, true };
	played_answer(0, 0, "", &self);
	ck_assert_msg(template_clone(&t, &j, &c, &e) == 0, "%s", e.text);
	ck_assert_int_eq(j.pid, getpid());
	ck_assert_int_ge(j.pidfd, 0);
	ck_assert_uint_eq(t.clones, 1);
	ck_assert_int_eq(take_request(&q), WARM_FDS_MIN + own + limited);
	ck_assert(q.own == own && q.limited == limited && q.session == 1);
	/* an ordinary user's is the one that the template's namespace has */
	ck_assert_uint_eq(q.host_uid, own ? 5000 : 1000);
	ck_assert_uint_eq(q.host_gid, own ? 22 : 1000);
	ck_assert_uint_eq(q.init_id, 3);
	ck_assert_uint_eq(q.program_id, 4);
	ck_assert_uint_eq(owner(j.cgroup.leaf), own && limited ? 6001 : geteuid());
}
END_TEST

START_TEST(one_that_is_not_ready_is_not_asked)
{
	struct jail j = JAIL_NONE;
	struct child c = { 0 };
	char byte;

	begin();
	(void)close(played_hello(0));
	j.plan = &plan;
	ck_assert_int_eq(template_clone(&t, &j, &c, &e), -EPIPE);
	ck_assert_str_eq(e.text, "template: it is not ready");
	ck_assert_int_eq(recv(played[0].channel, &byte, 1, MSG_DONTWAIT), -1);
	ck_assert_int_eq(errno, EAGAIN);
	ck_assert_uint_eq(t.clones, 0);
}
END_TEST

START_TEST(a_clone_that_failed_says_why)
{
	struct jail j = JAIL_NONE;
	struct child c = { .stdio = (int[]){ -1, -1, -1 } };

	ready();
	j.plan = &plan;
	played_answer(0, ENOSPC, "too many namespaces", NULL);
	ck_assert_int_eq(template_clone(&t, &j, &c, &e), -ENOSPC);
	ck_assert_str_eq(e.text, "too many namespaces");
	/* it goes on, and so may others' clones */
	ck_assert(t.ready);
	ck_assert_uint_eq(t.clones, 0);
	/* one that is said to be there must be shown */
	played_answer(0, 0, "", NULL);
	ck_assert_int_lt(template_clone(&t, &j, &c, &e), 0);
	ck_assert_int_eq(j.pid, 0);
	/* by a pidfd */
	played_answer(0, 0, "", (int[]){ STDERR_FILENO });
	ck_assert_int_lt(template_clone(&t, &j, &c, &e), 0);
	ck_assert_int_eq(j.pid, 0);
}
END_TEST

Suite *jail_template_clone_suite(void)
{
	Suite *s = suite_create("jail template clone");
	TCase *c = tcase_create("clone");

	tcase_add_loop_test(c, a_clone_is_asked_for_with_its_fds, 0, 4);
	tcase_add_test(c, one_that_is_not_ready_is_not_asked);
	tcase_add_test(c, a_clone_that_failed_says_why);
	suite_add_tcase(s, c);
	return s;
}
