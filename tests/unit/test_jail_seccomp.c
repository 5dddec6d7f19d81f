/* SPDX-License-Identifier: MIT */
/*
 * test_jail_seccomp.c - the plan's filter on a process, and the kernel's answers behind
 * it
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/seccomp.h>

#include "init/filter.h"
#include "jail/plan/plan.h"
#include "jail/walls/seccomp/seccomp.h"
#include "tests/unit/suites.h"

static const char nowhere[] = "/no/such/program";

/* no calls but these two are made after the filter is on; nobody answers a listener */
static uint64_t install(const struct plan *p, int *listener)
{
	struct err e = { 0 };
	uint64_t key = 1;

	MUST(prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) == 0);
	MUST(seccomp_install(p, 0, &key, listener, &e) == 0);
	return key;
}

/* without a listener what would be told of says ENOSYS */
static void close_listener(int listener)
{
	MUST(listener >= 0 && fcntl(listener, F_GETFD) == FD_CLOEXEC);
	MUST(close(listener) == 0);
}

static bool starts(uint64_t key)
{
	return syscall(SYS_execve, nowhere, NULL, NULL, key) == -1 && errno == ENOENT;
}

static void lock(void *arg)
{
	static struct plan plan = { .lock_code = LOCK_YES };
	int listener = -1;
	uint64_t key = install(&plan, &listener);

	close_listener(listener);
	*(uint64_t *)arg = key;
	MUST(starts(key));
	MUST(!starts(0) && errno == ENOSYS);
	MUST(!starts(FILTER_KEY));
	MUST(!starts(key ^ 1) && !starts(key ^ 1ULL << 63));
	MUST(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		  0) == MAP_FAILED);
	MUST(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
	     MAP_FAILED);
}

/* each jail has one of its own, that is nobody's guess */
START_TEST(a_lock_has_a_key_of_its_own)
{
	uint64_t *keys = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(keys, MAP_FAILED);
	for (int i = 0; i < 4; i++) {
		unit_child(lock, &keys[i]);
		ck_assert_uint_ne(keys[i], 0);
		ck_assert_uint_ne(keys[i], FILTER_KEY);
		for (int k = 0; k < i; k++)
			ck_assert_uint_ne(keys[i], keys[k]);
	}
	(void)munmap(keys, 4096);
}
END_TEST

static void no_lock(void *arg)
{
	static struct plan plan = { .lock_code = LOCK_NO };
	struct err e = { 0 };
	int listener = -1;

	(void)arg;
	MUST(plan_add_call(&plan, "syslog", &e) == -EPERM);
	MUST(plan_add_call(&plan, "shmget", &e) == 0);
	MUST(install(&plan, &listener) == 0);
	close_listener(listener);
	MUST(starts(0) && starts(1));
	MUST(syscall(SYS_keyctl, -1L) == -1 && errno == ENOSYS);
	MUST(syscall(SYS_msgget, 0, 0) == -1 && errno == EPERM);
	/* it fails by its own: a segment of no size */
	MUST(syscall(SYS_shmget, 0, 0, 01000) == -1 && errno == EINVAL);
}

START_TEST(a_plan_without_a_lock_starts_anything)
{
	unit_child(no_lock, NULL);
}
END_TEST

static void learn(void *arg)
{
	static struct plan plan = { .lock_code = LOCK_NO, .learn = ANSWER_YES };
	int listener = -1;

	(void)arg;
	(void)install(&plan, &listener);
	close_listener(listener);
	MUST(syscall(SYS_msgget, 0, 0) == -1 && errno == ENOSYS);
	MUST(syscall(SYS_keyctl, -1L) == -1 && errno == ENOSYS);
	MUST(syscall(SYS_getppid) > 0);
}

START_TEST(a_plan_that_learns_hears_of_all)
{
	unit_child(learn, NULL);
}
END_TEST

static int listen_first(void)
{
	static const struct sock_filter all[] = { BPF_STMT(BPF_RET | BPF_K,
							   SECCOMP_RET_ALLOW) };

	MUST(prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) == 0);
	return filter_listen(all, COUNT(all), true);
}

static void second(void *arg)
{
	static struct plan plan;
	struct err e = { 0 };
	int listener = 5;
	uint64_t key;

	(void)arg;
	MUST(listen_first() >= 0);
	MUST(seccomp_install(&plan, 0, &key, &listener, &e) == -EBUSY);
	MUST(listener == -1);
	MUST(strstr(e.text, "--allow-missing=audit") && !strchr(e.text, '\n'));
	/* and nothing was loaded */
	MUST(syscall(SYS_msgget, 1, 0) >= 0 || errno != EPERM);
}

START_TEST(a_second_listener_is_refused_in_words)
{
	unit_child(second, NULL);
}
END_TEST

static void silent(void *arg)
{
	static struct plan plan = { .allow_missing = PART_AUDIT, .lock_code = LOCK_YES };
	int listener = 5;
	uint64_t key;

	plan.learn = *(enum plan_answer *)arg;
	MUST(listen_first() >= 0);
	key = install(&plan, &listener);
	MUST(listener == -1);
	MUST(syscall(SYS_keyctl, -1L) == -1 && errno == EPERM);
	MUST(syscall(SYS_msgget, 0, 0) == -1 && errno == EPERM);
	MUST(!starts(0) && errno == EPERM);
	MUST(starts(key));
}

/* unheard, but refused as ever, in any variant */
START_TEST(a_missing_listener_lets_nothing_through)
{
	enum plan_answer learns = _i ? ANSWER_YES : ANSWER_NO;

	unit_child(silent, &learns);
}
END_TEST

static void audible(void *arg)
{
	static struct plan plan = { .allow_missing = PART_AUDIT };
	int listener = -1;

	(void)arg;
	(void)install(&plan, &listener);
	MUST(listener >= 0);
}

START_TEST(what_may_be_missing_is_used_if_it_is_there)
{
	unit_child(audible, NULL);
}
END_TEST

static void privileged(void *arg)
{
	static struct plan plan;
	struct err e = { 0 };
	int listener = -1;
	uint64_t key;

	(void)arg;
	if (geteuid() == 0)
		MUST(setresuid(65534, 65534, 65534) == 0);
	MUST(seccomp_install(&plan, 0, &key, &listener, &e) == -EACCES);
	MUST(strncmp(e.text, "seccomp: load ", 14) == 0 && listener == -1);
}

START_TEST(a_filter_that_is_not_taken_is_an_error)
{
	unit_child(privileged, NULL);
}
END_TEST

Suite *jail_seccomp_suite(void)
{
	Suite *s = suite_create("jail seccomp");
	TCase *c = tcase_create("seccomp");

	tcase_add_test(c, a_lock_has_a_key_of_its_own);
	tcase_add_test(c, a_plan_without_a_lock_starts_anything);
	tcase_add_test(c, a_plan_that_learns_hears_of_all);
	tcase_add_test(c, a_second_listener_is_refused_in_words);
	tcase_add_loop_test(c, a_missing_listener_lets_nothing_through, 0, 2);
	tcase_add_test(c, what_may_be_missing_is_used_if_it_is_there);
	tcase_add_test(c, a_filter_that_is_not_taken_is_an_error);
	suite_add_tcase(s, c);
	return s;
}
