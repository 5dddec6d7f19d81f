/* SPDX-License-Identifier: MIT */
/*
 * test_jail_rlimit.c - what one process may use, read back from the kernel
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "init/io.h"
#include "jail/walls/rlimit.h"
#include "tests/unit/suites.h"

#define SET_MEMORY (64ULL << 20)

static struct plan plan;

static void make_plan(void)
{
	plan_init(&plan);
	for (size_t i = 0; i < LIMIT_COUNT; i++)
		plan.limit[i] = NO_LIMIT;
	plan.limit[LIMIT_FILES] = 100;
	plan.limit[LIMIT_FILE_BYTES] = 12345;
	plan.limit[LIMIT_CPU_MS] = 1500;
	plan.limit[LIMIT_PIDS] = 20;
	plan.limit[LIMIT_MEMORY_BYTES] = SET_MEMORY;
}

/* soft and hard alike: what is lowered cannot be raised again */
static bool both_are(__rlimit_resource_t resource, rlim_t want)
{
	struct rlimit now;

	return getrlimit(resource, &now) == 0 && now.rlim_cur == want &&
	       now.rlim_max == want;
}

static void set_with_cgroup(void *arg)
{
	struct rlimit before, after, data;
	struct err e;

	(void)arg;
	MUST(getrlimit(RLIMIT_DATA, &data) == 0);
	MUST(getrlimit(RLIMIT_NOFILE, &before) == 0);
	MUST(rlimit_set(&plan, true, true, false, &e) == 0);
	/* in its own time, see gate_hand_over() */
	MUST(getrlimit(RLIMIT_NOFILE, &after) == 0);
	MUST(memcmp(&before, &after, sizeof(before)) == 0);
	MUST(rlimit_set_files(&plan, &e) == 0);
	MUST(both_are(RLIMIT_NOFILE, 100));
	MUST(both_are(RLIMIT_FSIZE, 12345));
	/* rounded up, and a second behind the launcher's own watch */
	MUST(both_are(RLIMIT_CPU, 3));
	/* and init */
	MUST(both_are(RLIMIT_NPROC, 21));
	MUST(both_are(RLIMIT_CORE, 1));
	MUST(both_are(RLIMIT_MEMLOCK, 65536));
	MUST(both_are(RLIMIT_MSGQUEUE, 0));
	MUST(both_are(RLIMIT_SIGPENDING, 64));
	MUST(both_are(RLIMIT_NICE, 0));
	MUST(both_are(RLIMIT_RTPRIO, 0));
	/* the cgroup's business */
	MUST(getrlimit(RLIMIT_DATA, &after) == 0);
	MUST(memcmp(&data, &after, sizeof(data)) == 0);
}

/* together, a template and its clone have set all of them; the template can raise none
 * that its clones' plan names */
static void set_in_two(void *arg)
{
	struct rlimit before, after;
	struct err e;

	(void)arg;
	MUST(getrlimit(RLIMIT_FSIZE, &before) == 0);
	plan.template = true;
	MUST(rlimit_set(&plan, true, true, false, &e) == 0);
	MUST(getrlimit(RLIMIT_FSIZE, &after) == 0);
	MUST(memcmp(&before, &after, sizeof(before)) == 0);
	MUST(both_are(RLIMIT_SIGPENDING, 64) && both_are(RLIMIT_CORE, 1));
	plan.template = false;
	MUST(rlimit_set(&plan, true, true, true, &e) == 0);
	MUST(both_are(RLIMIT_FSIZE, 12345) && both_are(RLIMIT_NPROC, 21));
}

START_TEST(a_clone_sets_what_its_template_has_not)
{
	unit_child(set_in_two, NULL);
}
END_TEST

static void raise_core(void *arg)
{
	static const struct rlimit zero = { 0, 0 }, one = { 1, 1 };
	char pattern[8] = "";
	struct err e;

	(void)arg;
	MUST(rlimit_raise_core(&e) == 0);
	MUST(setrlimit(RLIMIT_CORE, &zero) == 0);
	/* root of a container may lack the capability */
	if (setrlimit(RLIMIT_CORE, &one) == 0) {
		MUST(setrlimit(RLIMIT_CORE, &zero) == 0);
		MUST(rlimit_raise_core(&e) == 0);
		MUST(both_are(RLIMIT_CORE, 1));
		MUST(setrlimit(RLIMIT_CORE, &zero) == 0);
		MUST(setresuid(65534, 65534, 65534) == 0);
	}
	/* who may not raise it is refused where it would start a program */
	MUST(io_read_file_at(AT_FDCWD, "/proc/sys/kernel/core_pattern", pattern,
			     sizeof(pattern)) >= 0);
	MUST(rlimit_raise_core(&e) == (pattern[0] == '|' ? -EPERM : 0));
	MUST(both_are(RLIMIT_CORE, 0));
}

START_TEST(a_core_limit_of_zero_is_raised)
{
	unit_child(raise_core, NULL);
}
END_TEST

START_TEST(a_core_goes_to_nobody)
{
	static const struct {
		const char *pattern, *with_one, *with_zero;
	} rows[] = {
		{ "core", NULL, NULL },
		{ "/var/core/%p", NULL, NULL },
		{ "|/usr/bin/catch %P", NULL, "raise it to 1" },
		{ "", NULL, "raise it to 1" },
		{ "@/run/catch.socket", "is a socket", "is a socket" },
		{ "@@/run/catch.socket", "is a socket", "is a socket" },
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		for (int one = 0; one <= 1; one++) {
			const char *wanted = one ? rows[i].with_one : rows[i].with_zero;
			const char *got = rlimit_core_fault(rows[i].pattern, one);

			ck_assert_msg(!got == !wanted && (!got || strstr(got, wanted)),
				      "%s, %d: %s", rows[i].pattern, one, got);
		}
}
END_TEST

START_TEST(limits_are_set)
{
	unit_child(set_with_cgroup, NULL);
}
END_TEST

static void set_without_cgroup(void *arg)
{
	struct err e;

	(void)arg;
	MUST(rlimit_set(&plan, false, true, false, &e) == 0);
	MUST(both_are(RLIMIT_DATA, SET_MEMORY));
}

START_TEST(memory_is_limited_without_a_cgroup)
{
	unit_child(set_without_cgroup, NULL);
}
END_TEST

static void set_unlimited(void *arg)
{
	struct rlimit before[3], after[3];
	static const __rlimit_resource_t resources[] = { RLIMIT_NOFILE, RLIMIT_FSIZE,
							 RLIMIT_CPU };
	struct err e;

	(void)arg;
	plan.limit[LIMIT_FILES] = NO_LIMIT;
	plan.limit[LIMIT_FILE_BYTES] = NO_LIMIT;
	plan.limit[LIMIT_CPU_MS] = NO_LIMIT;
	for (size_t i = 0; i < COUNT(resources); i++)
		MUST(getrlimit(resources[i], &before[i]) == 0);
	MUST(rlimit_set(&plan, true, true, false, &e) == 0 &&
	     rlimit_set_files(&plan, &e) == 0);
	for (size_t i = 0; i < COUNT(resources); i++)
		MUST(getrlimit(resources[i], &after[i]) == 0);
	MUST(memcmp(before, after, sizeof(before)) == 0);
	/* but what has no option is still set */
	MUST(both_are(RLIMIT_CORE, 1));
}

START_TEST(what_is_unlimited_stays_as_it_is)
{
	unit_child(set_unlimited, NULL);
}
END_TEST

/* of a caller that may raise nothing: root would have to give up a capability first */
static void set_over_lower(void *arg)
{
	const struct rlimit low = { 50, 50 };
	struct err e;

	(void)arg;
	MUST(setrlimit(RLIMIT_NOFILE, &low) == 0);
	/* root could raise it; in its user namespace, no jail's child can */
	MUST(geteuid() != 0 || setresuid(65534, 65534, 65534) == 0);
	MUST(rlimit_set(&plan, true, true, false, &e) == 0 &&
	     rlimit_set_files(&plan, &e) == 0);
	MUST(both_are(RLIMIT_NOFILE, 50));
	MUST(both_are(RLIMIT_FSIZE, 12345));
}

START_TEST(a_lower_limit_of_the_caller_stays)
{
	unit_child(set_over_lower, NULL);
}
END_TEST

static void set_over_soft(void *arg)
{
	const struct rlimit low = { 50, 5000 };
	struct err e;

	(void)arg;
	MUST(setrlimit(RLIMIT_NOFILE, &low) == 0);
	MUST(rlimit_set(&plan, true, true, false, &e) == 0 &&
	     rlimit_set_files(&plan, &e) == 0);
	MUST(both_are(RLIMIT_NOFILE, 100));
}

static void raise_files(void *arg)
{
	(void)arg;
	MUST(setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 50, 100 }) == 0);
	rlimit_raise_files();
	MUST(both_are(RLIMIT_NOFILE, 100));
}

START_TEST(the_launcher_has_what_it_may_have)
{
	unit_child(raise_files, NULL);
}
END_TEST

START_TEST(a_lower_soft_limit_is_a_default_to_overrule)
{
	struct rlimit now;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &now), 0);
	if (now.rlim_max < 5000)
		unit_skip("rlimit: the hard limit of open files is below 5000");
	else
		unit_child(set_over_soft, NULL);
}
END_TEST

static void count_processes(void *arg)
{
	struct err e;

	(void)arg;
	/* downwards, because none can be raised again: init counts along where it shares
	 * the id, and with a cgroup it is the cgroup that shall refuse */
	MUST(rlimit_set(&plan, true, false, false, &e) == 0);
	MUST(both_are(RLIMIT_NPROC, 21));
	MUST(rlimit_set(&plan, false, true, false, &e) == 0);
	MUST(both_are(RLIMIT_NPROC, 21));
	MUST(rlimit_set(&plan, false, false, false, &e) == 0);
	MUST(both_are(RLIMIT_NPROC, 20));
}

START_TEST(init_counts_where_it_shares_the_id)
{
	unit_child(count_processes, NULL);
}
END_TEST

static void round_up(void *arg)
{
	static const struct {
		uint64_t ms;
		rlim_t seconds;
	} rows[] = { { 4001, 6 }, { 4000, 5 }, { 3999, 5 },
		     { 1001, 3 }, { 1000, 2 }, { 10, 2 } };
	struct err e;

	(void)arg;
	/* downwards, because none can be raised again */
	for (size_t i = 0; i < COUNT(rows); i++) {
		plan.limit[LIMIT_CPU_MS] = rows[i].ms;
		MUST(rlimit_set(&plan, true, true, false, &e) == 0);
		MUST(both_are(RLIMIT_CPU, rows[i].seconds));
	}
}

START_TEST(cpu_time_is_rounded_up)
{
	unit_child(round_up, NULL);
}
END_TEST

Suite *jail_rlimit_suite(void)
{
	Suite *s = suite_create("jail rlimit");
	TCase *c = tcase_create("rlimit");

	tcase_add_checked_fixture(c, make_plan, NULL);
	tcase_add_test(c, a_core_limit_of_zero_is_raised);
	tcase_add_test(c, a_core_goes_to_nobody);
	tcase_add_test(c, limits_are_set);
	tcase_add_test(c, a_clone_sets_what_its_template_has_not);
	tcase_add_test(c, memory_is_limited_without_a_cgroup);
	tcase_add_test(c, what_is_unlimited_stays_as_it_is);
	tcase_add_test(c, a_lower_limit_of_the_caller_stays);
	tcase_add_test(c, the_launcher_has_what_it_may_have);
	tcase_add_test(c, a_lower_soft_limit_is_a_default_to_overrule);
	tcase_add_test(c, init_counts_where_it_shares_the_id);
	tcase_add_test(c, cpu_time_is_rounded_up);
	suite_add_tcase(s, c);
	return s;
}
