/* SPDX-License-Identifier: MIT */
/*
 * test_jail_cgroup_usage.c - what a leaf has used, from plain files in its place
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "init/io.h"
#include "jail/launch/cgroup/cgroup.h"
#include "jail/watch/cgroup_usage.h"
#include "jail/plan/plan.h"
#include "tests/unit/suites.h"

static const char *base;
static struct cgroup cg;

static void make_leaf(void)
{
	base = unit_folder();
	cg = CGROUP_NONE;
	cg.leaf = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(cg.leaf, 0);
}

static void close_leaf(void)
{
	io_close_fd(&cg.leaf);
}

static void put(const char *file, const char *text)
{
	(void)unit_file(base, file, text, strlen(text));
}

START_TEST(usage_is_read)
{
	struct cgroup_usage u;

	put("memory.peak", "104857600\n");
	put("pids.peak", "17\n");
	put("memory.events",
	    "low 1\nhigh 2\nmax 3\noom 4\noom_kill 5\noom_group_kill 6\n");
	put("pids.events", "max 7\n");
	put("cpu.stat", "usage_usec 300\nuser_usec 100\nsystem_usec 200\nnr_periods 9\n"
			"nr_throttled 8\nthrottled_usec 12345678901\n");
	cgroup_usage(&cg, NULL, &u);
	ck_assert_uint_eq(u.memory_peak_bytes, 104857600);
	ck_assert_uint_eq(u.pids_peak, 17);
	ck_assert_uint_eq(u.oom_kills, 5);
	ck_assert_uint_eq(u.pids_refused, 7);
	ck_assert_uint_eq(u.user_us, 100);
	ck_assert_uint_eq(u.system_us, 200);
	ck_assert_uint_eq(u.throttled_us, 12345678901);
	/* the CPU times alone, without a change of the rest */
	put("cpu.stat", "user_usec 101\nsystem_usec 201\nthrottled_usec 301\n");
	put("pids.peak", "18\n");
	cgroup_cpu(&cg, &u);
	ck_assert_uint_eq(u.user_us, 101);
	ck_assert_uint_eq(u.system_us, 201);
	ck_assert_uint_eq(u.throttled_us, 301);
	ck_assert_uint_eq(u.pids_peak, 17);
}
END_TEST

/* what the kernel could take back at any time is none that a leaf needs */
START_TEST(memory_is_what_cannot_be_given_back)
{
	ck_assert_uint_eq(cgroup_memory(&cg, 0), 0);
	put("memory.current", "90000\n");
	ck_assert_uint_eq(cgroup_memory(&cg, 0), 90000);
	put("memory.stat", "anon 7\nfile 50000\nshmem 20000\ninactive_anon 9\n"
			   "inactive_file 10000\nactive_file 20000\n"
			   "slab_reclaimable 400\nslab_unreclaimable 5\n");
	ck_assert_uint_eq(cgroup_memory(&cg, 0), 59600);
	ck_assert_uint_eq(cgroup_memory(&cg, 89999), 59600);
	/* it was not looked for */
	ck_assert_uint_eq(cgroup_memory(&cg, 90000), 90000);
	/* the two files are read one after the other */
	put("memory.current", "30000\n");
	ck_assert_uint_eq(cgroup_memory(&cg, 0), 0);
}
END_TEST

/* what the set-up used is taken off counts, but a peak is a peak */
START_TEST(counts_are_differences)
{
	struct cgroup_usage before, u;

	put("memory.peak", "1000\n");
	put("memory.events", "oom_kill 2\n");
	put("cpu.stat", "user_usec 50\nsystem_usec 60\n");
	cgroup_usage(&cg, NULL, &before);
	put("memory.peak", "3000\n");
	put("memory.events", "high 9\noom_kill 5\n");
	put("cpu.stat", "user_usec 150\nsystem_usec 260\n");
	put("pids.events", "max 3\n");
	cgroup_usage(&cg, &before, &u);
	ck_assert_uint_eq(u.memory_peak_bytes, 3000);
	ck_assert_uint_eq(u.oom_kills, 3);
	ck_assert_uint_eq(u.user_us, 100);
	ck_assert_uint_eq(u.system_us, 200);
	/* was not there before: nothing to take off */
	ck_assert_uint_eq(u.pids_refused, 3);
	/* never was there */
	ck_assert_uint_eq(u.pids_peak, NO_LIMIT);
}
END_TEST

/* a key is a whole word at the start of a line */
START_TEST(keys_are_whole)
{
	struct cgroup_usage u;

	put("memory.events", "oom_kill_7 1\nxoom_kill 2\noom_killer 3\n oom_kill 4\n");
	put("pids.events", "max_7 1\npids.max 2\n");
	put("cpu.stat",
	    "core_sched.user_usec 1\nuser_usec_7 2\nuser_usec\t3\nsystem_usec 4");
	cgroup_usage(&cg, NULL, &u);
	ck_assert_uint_eq(u.oom_kills, NO_LIMIT);
	ck_assert_uint_eq(u.pids_refused, NO_LIMIT);
	ck_assert_uint_eq(u.user_us, NO_LIMIT);
	ck_assert_uint_eq(u.system_us, 4);
	put("memory.events", "\n\noom_kill 9\n");
	cgroup_usage(&cg, NULL, &u);
	ck_assert_uint_eq(u.oom_kills, 9);
}
END_TEST

/* what is not known is not zero */
START_TEST(what_is_missing_is_not_known)
{
	struct cgroup_usage u;

	memset(&u, 0x5a, sizeof(u));
	cgroup_usage(&cg, NULL, &u);
	for (size_t i = 0; i < sizeof(u) / sizeof(uint64_t); i++)
		ck_assert_uint_eq(((const uint64_t *)(const void *)&u)[i], NO_LIMIT);
	/* while a time that was read before is not taken back */
	u.user_us = 5;
	cgroup_cpu(&cg, &u);
	ck_assert_uint_eq(u.user_us, 5);

	put("memory.peak", "");
	put("pids.peak", "max\n");
	put("memory.events", "");
	put("cpu.stat", "");
	cgroup_usage(&cg, NULL, &u);
	ck_assert_uint_eq(u.memory_peak_bytes, NO_LIMIT);
	ck_assert_uint_eq(u.pids_peak, NO_LIMIT);
	ck_assert_uint_eq(u.oom_kills, NO_LIMIT);
	ck_assert_uint_eq(u.user_us, NO_LIMIT);
}
END_TEST

START_TEST(symlinks_are_not_followed)
{
	struct cgroup_usage u;

	put("elsewhere", "99\n");
	ck_assert_int_eq(symlinkat("elsewhere", cg.leaf, "memory.peak"), 0);
	cgroup_usage(&cg, NULL, &u);
	ck_assert_uint_eq(u.memory_peak_bytes, NO_LIMIT);
}
END_TEST

Suite *jail_cgroup_usage_suite(void)
{
	Suite *s = suite_create("jail cgroup usage");
	TCase *c = tcase_create("cgroup usage");

	tcase_add_checked_fixture(c, make_leaf, close_leaf);
	tcase_add_test(c, usage_is_read);
	tcase_add_test(c, counts_are_differences);
	tcase_add_test(c, memory_is_what_cannot_be_given_back);
	tcase_add_test(c, keys_are_whole);
	tcase_add_test(c, what_is_missing_is_not_known);
	tcase_add_test(c, symlinks_are_not_followed);
	suite_add_tcase(s, c);
	return s;
}
