/* SPDX-License-Identifier: MIT */
/*
 * test_jail_host.c - what a host lacks is named before anything is started
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/seccomp.h>

#include "init/filter.h"
#include "jail/base/host.h"
#include "tests/unit/suites.h"

START_TEST(a_host_that_runs_tests_has_it_all)
{
	struct err e = { 0 };

	ck_assert_msg(host_check(&e) == 0, "%s", e.text);
}
END_TEST

static void refuse(unsigned int call, unsigned int errnum)
{
	const struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | errnum),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	MUST(prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) == 0);
	MUST(filter_load(code, COUNT(code)) == 0);
}

static void lack_a_call(void *arg)
{
	struct err e;

	(void)arg;
	refuse(SYS_mount_setattr, ENOSYS);
	MUST(host_check(&e) == -ENOSYS && strstr(e.text, "mount_setattr (Linux 5.12)"));
	/* the first of the table, so that it is the one that is named */
	refuse(SYS_pidfd_send_signal, EPERM);
	MUST(host_check(&e) == -ENOSYS && strstr(e.text, "pidfd_send_signal"));
}

static void lack_rights(void *arg)
{
	struct err e;

	(void)arg;
	/* the kernel's own answer to a caller without rights */
	refuse(SYS_fsopen, EPERM);
	MUST(host_check(&e) == 0);
}

START_TEST(a_call_that_is_missing_is_named)
{
	unit_child(lack_a_call, NULL);
	unit_child(lack_rights, NULL);
}
END_TEST

static void lack_files(void *arg)
{
	struct err e;

	(void)arg;
	MUST(setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 63, 64 }) == 0);
	MUST(host_check(&e) == -EMFILE && strstr(e.text, "64 open files"));
	MUST(setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 64, 64 }) == 0);
	MUST(host_check(&e) == 0);
}

START_TEST(open_files_are_counted)
{
	unit_child(lack_files, NULL);
}
END_TEST

/* PID 1 of a new PID namespace, under the /proc of the old one, and then without */
static void be_elsewhere(void *arg)
{
	struct err e;

	(void)arg;
	if (!unit_namespace(CLONE_NEWNS | CLONE_NEWPID))
		return;

	pid_t child = fork();
	int status = 1;

	MUST(child >= 0);
	if (child == 0) {
		MUST(host_check(&e) == -ESRCH && strstr(e.text, "PID namespace"));
		MUST(mount("none", "/proc", "tmpfs", 0, NULL) == 0);
		MUST(host_check(&e) == -ENOENT && strstr(e.text, "no /proc"));
		_exit(0);
	}
	MUST(waitpid(child, &status, 0) == child && status == 0);
}

START_TEST(the_proc_must_be_ones_own)
{
	unit_child(be_elsewhere, NULL);
}
END_TEST

START_TEST(a_refused_clone_says_what_mends_it)
{
	static const struct {
		int errnum;
		const char *said;
	} rows[] = {
		{ EPERM, "refused: " },       { EACCES, "refused: " },
		{ ENOSPC, "user.max_" },      { EINVAL, "CLONE_INTO_CGROUP" },
		{ ENOMEM, "new namespaces" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct err e;

		ck_assert_int_eq(host_refused_clone(rows[i].errnum, &e), -rows[i].errnum);
		ck_assert_ptr_nonnull(strstr(e.text, rows[i].said));
	}
}
END_TEST

START_TEST(a_hint_follows_errnos_words_alone)
{
	struct err e;

	(void)err_set(&e, EAGAIN, "fork");
	host_hint(&e);
	ck_assert_ptr_nonnull(strstr(e.text, "RLIMIT_NPROC"));
	(void)err_say(&e, EAGAIN, "all slots are taken");
	host_hint(&e);
	ck_assert_str_eq(e.text, "all slots are taken");
	(void)err_set(&e, EACCES, "open");
	host_hint(&e);
	ck_assert_str_eq(e.text, "open: Permission denied");
	(void)err_set(&e, EPERM, "mount");
	host_hint(&e);
	ck_assert_int_eq(strstr(e.text, "seccomp") != NULL,
			 prctl(PR_GET_SECCOMP, 0UL, 0UL, 0UL, 0UL) == 2);
}
END_TEST

static void hint_behind_a_filter(void *arg)
{
	struct err e;

	(void)arg;
	refuse(SYS_acct, EPERM);
	(void)err_set(&e, EPERM, "mount");
	host_hint(&e);
	MUST(strstr(e.text, "seccomp filter is on"));
}

START_TEST(a_filter_that_is_on_is_named)
{
	unit_child(hint_behind_a_filter, NULL);
}
END_TEST

Suite *jail_host_suite(void)
{
	Suite *s = suite_create("jail host");
	TCase *c = tcase_create("host");

	tcase_add_test(c, a_host_that_runs_tests_has_it_all);
	tcase_add_test(c, a_call_that_is_missing_is_named);
	tcase_add_test(c, open_files_are_counted);
	tcase_add_test(c, the_proc_must_be_ones_own);
	tcase_add_test(c, a_refused_clone_says_what_mends_it);
	tcase_add_test(c, a_hint_follows_errnos_words_alone);
	tcase_add_test(c, a_filter_that_is_on_is_named);
	suite_add_tcase(s, c);
	return s;
}
