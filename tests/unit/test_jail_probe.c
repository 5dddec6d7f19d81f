/* SPDX-License-Identifier: MIT */
/*
 * test_jail_probe.c - trying what a jail needs leaves the one who asks as it was
 */
#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/seccomp.h>

#include "init/filter.h"
#include "jail/base/command.h"
#include "jail/check/probe.h"
#include "tests/unit/suites.h"

static ino_t namespace_of(const char *kind)
{
	struct stat st;

	ck_assert_int_eq(stat(unit_path("/proc/self/ns", kind), &st), 0);
	return st.st_ino;
}

START_TEST(probes_answer_and_change_nothing)
{
	static const unsigned long kinds[] = {
		CLONE_NEWNS,  CLONE_NEWPID, CLONE_NEWNET,
		CLONE_NEWIPC, CLONE_NEWUTS, CLONE_NEWCGROUP
	};
	ino_t user = namespace_of("user"), uts = namespace_of("uts");
	ino_t mnt = namespace_of("mnt");

	struct err e;

	if (probe_in_child(CLONE_NEWUTS, NULL, &e) < 0) {
		unit_skip("probe: no user namespace on this host: %s", e.text);
		return;
	}
	for (size_t i = 0; i < COUNT(kinds); i++)
		ck_assert_int_eq(probe_in_child(kinds[i], NULL, &e), 0);
	ck_assert_int_eq(probe_in_child(CLONE_NEWNS, probe_tmpfs, &e), 0);
	ck_assert_uint_eq(namespace_of("user"), user);
	ck_assert_uint_eq(namespace_of("uts"), uts);
	ck_assert_uint_eq(namespace_of("mnt"), mnt);
}
END_TEST

START_TEST(probes_can_fail)
{
	struct err e;

	/* flags that no kernel takes together */
	ck_assert_int_lt(probe_in_child(CLONE_THREAD, NULL, &e), 0);
}
END_TEST

/* as AppArmor may have it: the namespace is made, and its capability refused */
static void probe_restricted(void *arg)
{
	static const struct sock_filter refuse[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_SECUREBITS, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct err e;

	(void)arg;
	if (probe_in_child(CLONE_NEWUTS, NULL, &e) < 0) {
		unit_skip("probe: no user namespace on this host: %s", e.text);
		return;
	}
	MUST(prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) == 0);
	MUST(filter_load(refuse, COUNT(refuse)) == 0);
	MUST(probe_in_child(CLONE_NEWUTS, NULL, &e) == -EPERM);
	MUST(strstr(e.text, "gives no capability") != NULL);
}

START_TEST(a_namespace_without_rights_is_refused)
{
	unit_child(probe_restricted, NULL);
}
END_TEST

START_TEST(check_takes_options_of_run)
{
	struct err e = { 0 };

	ck_assert_int_eq(command_check((char *[]){ "--nonsense", NULL }, &e), -EINVAL);
	ck_assert_ptr_nonnull(strstr(e.text, "--nonsense"));
	ck_assert_int_eq(command_check((char *[]){ "--json", "more", NULL }, &e),
			 -EINVAL);
	ck_assert_ptr_nonnull(strstr(e.text, "'more'"));
	ck_assert_int_eq(command_check((char *[]){ "--proc", "some", NULL }, &e),
			 -EINVAL);
	ck_assert_ptr_nonnull(strstr(e.text, "'some'"));
}
END_TEST

Suite *jail_probe_suite(void)
{
	Suite *s = suite_create("jail probe");
	TCase *c = tcase_create("probe");

	tcase_add_test(c, probes_answer_and_change_nothing);
	tcase_add_test(c, probes_can_fail);
	tcase_add_test(c, a_namespace_without_rights_is_refused);
	tcase_add_test(c, check_takes_options_of_run);
	suite_add_tcase(s, c);
	return s;
}
