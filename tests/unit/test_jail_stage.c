/* SPDX-License-Identifier: MIT */
/*
 * test_jail_stage.c - the table of stages, and that a stage which fails ends the jail
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/sched.h>

#include "init/io.h"
#include "init/wire.h"
#include "jail/walls/stage.h"
#include "tests/unit/suites.h"
#include "tests/wire_recv.h"

#define AFTER_SPLIT (ROLE_INIT | ROLE_PROGRAM | ROLE_WARM | ROLE_TEMPLATE)
#define EVERY_ROLE (ROLE_CHILD | AFTER_SPLIT)

static size_t index_of(const char *name)
{
	for (size_t i = 0; i < stage_count; i++)
		if (strcmp(stages[i].name, name) == 0)
			return i;
	ck_abort_msg("no stage is named %s", name);
	return 0;
}

START_TEST(every_row_is_complete)
{
	for (size_t i = 0; i < stage_count; i++) {
		ck_assert(stages[i].name && stages[i].name[0]);
		ck_assert_msg(stages[i].act != NULL, "%s", stages[i].name);
		ck_assert_msg(stages[i].roles &&
				      !(stages[i].roles & ~(unsigned)EVERY_ROLE),
			      "%s", stages[i].name);
		for (size_t k = 0; k < i; k++) {
			ck_assert_str_ne(stages[i].name, stages[k].name);
			ck_assert(stages[i].act != stages[k].act);
		}
	}
}
END_TEST

/* the design's nine, and what was put between them; each row before the next */
START_TEST(stages_are_in_order)
{
	static const char *const order[] = {
		"namespaces", "ids",   "mounts",  "net",          "host",
		"bounding",   "split", "session", "capabilities", "landlock",
		"seccomp",    "gate",  "exec",
	};

	for (size_t i = 1; i < COUNT(order); i++)
		ck_assert_msg(index_of(order[i - 1]) < index_of(order[i]), "%s before %s",
			      order[i - 1], order[i]);
	/* rights to a folder are the program's, so its ids come first; the walls follow
	 */
	ck_assert(index_of("session") < index_of("chdir"));
	ck_assert(index_of("chdir") < index_of("capabilities"));
	ck_assert_uint_eq(index_of("exec"), stage_count - 1);
}
END_TEST

START_TEST(roles_are_split_at_the_split)
{
	size_t split = index_of("split");

	for (size_t i = 0; i < stage_count; i++) {
		bool child = stages[i].roles & ROLE_CHILD;
		bool after = stages[i].roles & AFTER_SPLIT;

		ck_assert_msg(child == (i <= split), "%s", stages[i].name);
		ck_assert_msg(after == (i > split), "%s", stages[i].name);
	}
}
END_TEST

START_TEST(no_one_goes_without_a_wall)
{
	static const struct {
		const char *name;
		unsigned int roles;
	} walls[] = {
		{ "session", ROLE_INIT | ROLE_PROGRAM },
		{ "capabilities", ROLE_INIT | ROLE_PROGRAM },
		{ "landlock", ROLE_PROGRAM },
		{ "seccomp", ROLE_PROGRAM },
		{ "exec", ROLE_INIT | ROLE_PROGRAM },
	};

	for (size_t i = 0; i < COUNT(walls); i++)
		ck_assert_msg((stages[index_of(walls[i].name)].roles & walls[i].roles) ==
				      walls[i].roles,
			      "%s", walls[i].name);
}
END_TEST

/* a clone of a template has all that a program has, in the same order, and no exec */
START_TEST(a_warm_program_goes_without_exec_alone)
{
	for (size_t i = 0; i < stage_count; i++) {
		bool program = stages[i].roles & ROLE_PROGRAM;
		bool warm = stages[i].roles & ROLE_WARM;

		if (strcmp(stages[i].name, "exec") == 0)
			ck_assert(program && !warm);
		else if (strcmp(stages[i].name, "wake") == 0)
			ck_assert(warm && !program);
		else
			ck_assert_msg(warm == program, "%s", stages[i].name);
	}
	ck_assert_uint_gt(index_of("wake"), index_of("gate"));
}
END_TEST

struct failure {
	struct wire_header head;
	struct wire_fail fail;
	int received, wstatus;
};

/* walk the stages in a child that clone3(2) makes with @flags, up to the first failure;
 * always in namespaces of its own, so that a stage that should have failed harms no host
 */
static bool walk(uint64_t flags, const struct ids *ids, bool go, struct failure *f)
{
	static struct plan plan;
	struct clone_args args = { .flags = flags | CLONE_NEWUSER | CLONE_NEWNS,
				   .exit_signal = SIGCHLD };
	struct child c = { .plan = &plan,
			   .ids = ids,
			   .sources_cloned = true,
			   .init_fd = -1,
			   .gate = -1 };
	int ends[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	c.control = ends[1];

	long pid = syscall(SYS_clone3, &args, sizeof(args));

	if (pid == 0) {
		(void)close(ends[0]);
		stage_run(&c);
	}
	if (pid < 0) {
		unit_skip("stages: no new namespaces on this host: %s", strerror(errno));
		return false;
	}
	(void)close(ends[1]);
	if (go)
		ck_assert_int_eq(wire_send(ends[0], WIRE_GO, 0, NULL, 0), 0);
	else
		ck_assert_int_eq(shutdown(ends[0], SHUT_WR), 0);
	f->received = wire_recv(ends[0], &f->head, &f->fail, sizeof(f->fail));
	ck_assert_int_eq(waitpid((pid_t)pid, &f->wstatus, 0), pid);
	/* nothing comes after it */
	ck_assert_int_eq(wire_recv(ends[0], &f->head, NULL, 0), -ENODATA);
	(void)close(ends[0]);
	return true;
}

static void ck_failed(const struct failure *f, size_t stage, int errnum, const char *says)
{
	ck_assert_int_eq(f->received, 0);
	ck_assert_uint_eq(f->fail.stage, stage);
	ck_assert_uint_eq(f->fail.errnum, (uint32_t)errnum);
	ck_assert_msg(strstr(f->fail.text, says) != NULL, "%s", f->fail.text);
	ck_assert(WIFEXITED(f->wstatus) && WEXITSTATUS(f->wstatus) == 1);
}

START_TEST(a_child_that_is_not_pid_1_fails)
{
	struct failure f;

	if (walk(0, &(struct ids){ 0 }, false, &f))
		ck_failed(&f, index_of("namespaces"), EINVAL, "not PID 1");
}
END_TEST

START_TEST(a_launcher_that_is_gone_ends_it)
{
	struct failure f;

	if (walk(CLONE_NEWUSER | CLONE_NEWPID, &(struct ids){ 0 }, false, &f))
		ck_failed(&f, index_of("ids"), EPIPE, "the launcher is gone");
}
END_TEST

/* an id that no map holds: the second stage fails, and none of the others runs */
START_TEST(a_stage_that_fails_ends_it)
{
	static const struct ids ids = { .init_id = 4242, .program_id = 4242 };
	struct failure f;

	if (walk(CLONE_NEWUSER | CLONE_NEWPID, &ids, true, &f))
		ck_failed(&f, index_of("ids"), EINVAL, "become group 4242");
}
END_TEST

Suite *jail_stage_suite(void)
{
	Suite *s = suite_create("jail stage");
	TCase *c = tcase_create("stage");

	tcase_add_test(c, every_row_is_complete);
	tcase_add_test(c, stages_are_in_order);
	tcase_add_test(c, roles_are_split_at_the_split);
	tcase_add_test(c, no_one_goes_without_a_wall);
	tcase_add_test(c, a_warm_program_goes_without_exec_alone);
	tcase_add_test(c, a_child_that_is_not_pid_1_fails);
	tcase_add_test(c, a_launcher_that_is_gone_ends_it);
	tcase_add_test(c, a_stage_that_fails_ends_it);
	suite_add_tcase(s, c);
	return s;
}
