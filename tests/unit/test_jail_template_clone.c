/* SPDX-License-Identifier: MIT */
/*
 * test_jail_template_clone.c - what a template is asked for a clone, and lent for it
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jail/plan/option.h"
#include "jail/base/fd_passing.h"
#include "jail/base/procfs.h"
#include "jail/walls/stage.h"
#include "jail/serve/template/template.h"
#include "jail/walls/warm.h"
#include "tests/unit/played.h"
#include "tests/unit/suites.h"

int __real_template_ask(struct template *t, struct jail *j, struct parts *parts,
			struct err *e);

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
	parts = (struct parts){ .plan = &plan, .sources.root.tree = -1 };
	ck_assert_msg(template_start(&t, &parts, words, STDERR_FILENO, &e) == 0, "%s",
		      e.text);
}

static void ready(void)
{
	begin();
	played_answer(0, 0, "");
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

/* answers that made() was called for, and the last of them */
static int answered, last;

static void made(struct template *from, const struct err *why)
{
	ck_assert_ptr_eq(from, &t);
	answered++;
	last = why ? -why->errnum : 0;
}

START_TEST(a_clone_is_asked_for_with_its_fds)
{
	bool own = _i & 1, limited = _i & 2;
	struct source *closed = &parts.sources.bind[1];
	struct jail j = JAIL_NONE;
	struct warm_request q;

	if (own && limited && geteuid() != 0) {
		unit_skip("template: a leaf is given away by root alone");
		return;
	}
	ready();
	t.made = made;
	(void)close(played_hello(0));
	j.limited = limited;
	j.cgroup.leaf = leaf(unit_folder());
	/* any fd will do, for the one source of two that is to be mapped, too */
	plan.bind_count = own ? 2 : 0;
	parts.sources.bind[0].tree = -1;
	*closed =
		(struct source){ .mapped = true, .tree = own ? dup(STDERR_FILENO) : -1 };
	j.ids = (struct ids){ own, dup(STDERR_FILENO), 5000, 22, 3, 4, false };
	played_child.control = dup(STDERR_FILENO);
	played_child.gate = dup(STDERR_FILENO);
	t.up.jail.ids = (struct ids){ own, -1, 6000, 6000, 0, 1000, true };
	ck_assert_msg(__real_template_ask(&t, &j, &parts, &e) == 0, "%s", e.text);
	ck_assert_uint_eq(t.clones, 1);
	ck_assert_uint_eq(t.asked, 1);
	/* they are the template's now */
	ck_assert_int_lt(fcntl(played_child.control, F_GETFD), 0);
	ck_assert_int_lt(fcntl(played_child.gate, F_GETFD), 0);
	ck_assert_int_lt(closed->tree, 0);
	ck_assert_int_eq(take_request(&q), WARM_FDS_MIN + own + limited + own);
	ck_assert(q.own == own && q.limited == limited && q.session == 1);
	/* an ordinary user's is the one that the template's namespace has */
	ck_assert_uint_eq(q.host_uid, own ? 5000 : 1000);
	ck_assert_uint_eq(q.host_gid, own ? 22 : 1000);
	ck_assert_uint_eq(q.init_id, 3);
	ck_assert_uint_eq(q.program_id, 4);
	ck_assert_uint_eq(owner(j.cgroup.leaf), own && limited ? 6001 : geteuid());
	/* nobody waits for its answer */
	ck_assert_int_eq(answered, 0);
	ck_assert_int_eq(template_serve(&t, &e), 1);
	played_answer(0, 0, "");
	ck_assert_int_eq(template_serve(&t, &e), 1);
	ck_assert(answered == 1 && last == 0 && t.asked == 0);
}
END_TEST

/* each takes an fd in one message */
START_TEST(so_many_sources_are_mapped)
{
	static char *const words[] = { "/bin/interpreter", NULL };

	begin();
	for (size_t i = 0; i <= MOUNT_MAPPED_MAX; i++)
		parts.sources.bind[i].mapped = true;
	plan.bind_count = MOUNT_MAPPED_MAX;
	ck_assert_int_eq(template_start(&t, &parts, words, STDERR_FILENO, &e), 0);
	plan.bind_count++;
	ck_assert_int_eq(template_start(&t, &parts, words, STDERR_FILENO, &e), -E2BIG);
	ck_assert_ptr_nonnull(strstr(e.text, "--cold"));
}
END_TEST

START_TEST(one_that_is_not_ready_is_not_asked)
{
	struct jail j = JAIL_NONE;
	char byte;

	begin();
	played_child.control = played_child.gate = -1;
	(void)close(played_hello(0));
	ck_assert_int_eq(__real_template_ask(&t, &j, &parts, &e), -EPIPE);
	ck_assert_str_eq(e.text, "template: it is not ready");
	ck_assert_int_eq(recv(played[0].channel, &byte, 1, MSG_DONTWAIT), -1);
	ck_assert_int_eq(errno, EAGAIN);
	ck_assert_uint_eq(t.clones, 0);
}
END_TEST

START_TEST(a_clone_that_failed_says_why)
{
	ready();
	t.made = made;
	t.asked = 2;
	played_answer(0, ENOSPC, "too many namespaces");
	ck_assert_int_eq(template_serve(&t, &e), 1);
	ck_assert(answered == 1 && last == -ENOSPC);
	/* it goes on, and so may others' clones */
	played_answer(0, 0, "");
	ck_assert_int_eq(template_serve(&t, &e), 1);
	ck_assert(answered == 2 && last == 0);
	/* but it speaks when it is asked */
	played_answer(0, 0, "");
	ck_assert_int_eq(template_serve(&t, &e), -EPIPE);
	ck_assert_int_eq(answered, 2);
}
END_TEST

START_TEST(an_fd_of_a_template_is_not_taken)
{
	struct warm_answer a = { 0 };
	int before, fd = STDERR_FILENO;

	ready();
	t.made = made;
	t.asked = 1;
	before = unit_fds();
	ck_assert_int_eq(fd_passing_send(played[0].channel, &a, sizeof(a), &fd, 1), 0);
	ck_assert_int_eq(template_serve(&t, &e), -EBADMSG);
	ck_assert_int_eq(answered, 0);
	ck_assert_int_eq(unit_fds(), before);
}
END_TEST

/* a template's control socket for a clone, of which the test holds both ends */
static int meeting(struct jail *j)
{
	int ends[2], on = 1;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	ck_assert_int_eq(setsockopt(ends[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)),
			 0);
	j->control = ends[0];
	return ends[1];
}

/* PID 1 of a namespace, or not, that says STARTED; its parent is a template */
static pid_t start_clone(int inside, bool first)
{
	pid_t template = fork(), clone;

	ck_assert_int_ge(template, 0);
	if (template > 0)
		return template;
	clone = (pid_t)syscall(SYS_clone,
			       first ? CLONE_NEWUSER | CLONE_NEWPID | SIGCHLD : SIGCHLD,
			       NULL, NULL, NULL, NULL);
	if (clone == 0) {
		(void)wire_send(inside, WIRE_STARTED, 0, NULL, 0);
		(void)pause();
	}
	if (clone < 0)
		(void)wire_send(inside, WIRE_DONE, 0, NULL, 0);
	(void)pause();
	_exit(1);
}

static int meet(struct jail *j)
{
	struct pollfd said = { .fd = j->control, .events = POLLIN };

	ck_assert_int_eq(poll(&said, 1, 60000), 1);
	return template_meet(&t, j, &e);
}

START_TEST(a_clone_is_who_the_kernel_says)
{
	struct jail j = JAIL_NONE;
	int inside = meeting(&j), r;
	pid_t template;
	char byte;

	ck_assert_int_eq(template_meet(&t, &j, &e), 0);
	template = start_clone(inside, _i == 0);
	t.up.gate.program = _i == 2 ? template : getpid();
	r = meet(&j);
	if (_i == 0 && r == -EBADMSG) {
		unit_skip("template: no user namespace may be made here");
	} else if (_i == 0) {
		ck_assert_msg(r == 1, "%s", e.text);
		ck_assert_int_gt(j.pid, 0);
		ck_assert_int_eq(procfs_held(j.pidfd), j.pid);
		(void)kill(j.pid, SIGKILL);
	} else {
		/* no PID 1, nor the child of the program's child */
		ck_assert_int_eq(r, -EPERM);
		ck_assert(j.pid == 0 && j.pidfd < 0);
	}
	ck_assert_int_lt(recv(j.control, &byte, 1, MSG_DONTWAIT), 0);
	(void)kill(template, SIGKILL);
	(void)waitpid(template, NULL, 0);
}
END_TEST

START_TEST(nobody_is_met_who_says_something_else)
{
	static const struct {
		uint16_t type;
		int expected;
	} rows[] = { { WIRE_READY, -EBADMSG }, { WIRE_GO, -EBADMSG }, { 0, -EPIPE } };
	struct jail j = JAIL_NONE;
	int inside = meeting(&j);

	if (rows[_i].type)
		ck_assert_int_eq(wire_send(inside, rows[_i].type, 0, NULL, 0), 0);
	(void)close(inside);
	ck_assert_int_eq(meet(&j), rows[_i].expected);
	ck_assert(j.pid == 0 && j.pidfd < 0);
}
END_TEST

Suite *jail_template_clone_suite(void)
{
	Suite *s = suite_create("jail template clone");
	TCase *c = tcase_create("clone");

	tcase_add_loop_test(c, a_clone_is_asked_for_with_its_fds, 0, 4);
	tcase_add_test(c, so_many_sources_are_mapped);
	tcase_add_test(c, one_that_is_not_ready_is_not_asked);
	tcase_add_test(c, a_clone_that_failed_says_why);
	tcase_add_test(c, an_fd_of_a_template_is_not_taken);
	tcase_add_loop_test(c, a_clone_is_who_the_kernel_says, 0, 3);
	tcase_add_loop_test(c, nobody_is_met_who_says_something_else, 0, 3);
	suite_add_tcase(s, c);
	return s;
}
