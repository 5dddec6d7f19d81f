/* SPDX-License-Identifier: MIT */
/*
 * test_init_filter_load.c - a filter that is loaded, and the kernel's own answers behind
 * it
 */
#include <errno.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/seccomp.h>

#include "init/filter.h"
#include "tests/unit/suites.h"

#include "filter_program.h"

/* only calls that would do no harm if they were let through */
static void ask_the_kernel(void *arg)
{
	(void)arg;
	MUST(prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) == 0);
	MUST(syscall(SYS_clone3, NULL, 0) == -1 && errno != ENOSYS);
	MUST(filter_load(filter_program, COUNT(filter_program)) == 0);
	MUST(syscall(SYS_clone3, NULL, 0) == -1 && errno == ENOSYS);
	/* nobody listens: what would be told of is a call that the kernel lacks */
	MUST(syscall(SYS_keyctl, -1L) == -1 && errno == ENOSYS);
	MUST(syscall(SYS_unshare, 0UL) == -1 && errno == ENOSYS);
	MUST(syscall(SYS_shmget, 0, 0, 0) == -1 && errno == EPERM);
	MUST(syscall(SYS_personality, 0xffffffffUL) >= 0);
	MUST(syscall(SYS_personality, 1UL) == -1 && errno == ENOSYS);
	MUST(syscall(SYS_getppid) > 0);
	/* it is there for good */
	MUST(prctl(PR_GET_SECCOMP) == SECCOMP_MODE_FILTER);
	MUST(filter_load(filter_program, COUNT(filter_program)) == -EPERM);
}

START_TEST(the_kernel_agrees)
{
	unit_child(ask_the_kernel, NULL);
}
END_TEST

static void load_nonsense(void *arg)
{
	static const struct sock_filter nonsense[] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
								0) };

	(void)arg;
	MUST(prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) == 0);
	MUST(filter_load(nonsense, 1) == -EINVAL);
	MUST(filter_load(nonsense, 0) == -EINVAL);
	MUST(prctl(PR_GET_SECCOMP) == SECCOMP_MODE_DISABLED);
}

START_TEST(a_refused_filter_is_an_error)
{
	unit_child(load_nonsense, NULL);
}
END_TEST

Suite *init_filter_load_suite(void)
{
	Suite *s = suite_create("init filter load");
	TCase *c = tcase_create("load");

	tcase_add_test(c, the_kernel_agrees);
	tcase_add_test(c, a_refused_filter_is_an_error);
	suite_add_tcase(s, c);
	return s;
}
