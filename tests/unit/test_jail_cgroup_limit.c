/* SPDX-License-Identifier: MIT */
/*
 * test_jail_cgroup_limit.c - limits into a leaf and back, with plain files in its place
 *
 * A plain file keeps what was written, as the kernel does when it takes a value; where
 * the kernel would answer otherwise, the test puts that answer in between.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "init/io.h"
#include "jail/launch/cgroup/cgroup_limit.h"
#include "tests/unit/suites.h"

static const char *base;
static int leaf;
static struct plan plan;
static struct cgroup_limits limits;

/* as the kernel has them in a new leaf with every controller */
static const struct {
	const char *file, *text;
} fresh[] = {
	{ "memory.max", "max\n" },
	{ "memory.high", "max\n" },
	{ "memory.swap.max", "max\n" },
	{ "memory.oom.group", "0\n" },
	{ "pids.max", "max\n" },
	{ "cpu.max", "max 100000\n" },
	{ "cpu.weight", "100\n" },
	{ "cpuset.cpus", "\n" },
	{ "cpuset.cpus.effective", "0-3\n" },
	{ "io.max", "" },
};

static void put(const char *file, const char *text)
{
	(void)unit_file(base, file, text, strlen(text));
}

static const char *got(const char *file)
{
	static char text[256];

	text[0] = '\0';
	(void)io_read_file_at(leaf, file, text, sizeof(text));
	return text;
}

static void make_leaf(void)
{
	base = unit_folder();
	leaf = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(leaf, 0);
	plan_init(&plan);
	plan.limit[LIMIT_MEMORY_BYTES] = 64 << 20;
	plan.limit[LIMIT_SWAP_BYTES] = 0;
	plan.limit[LIMIT_PIDS] = 32;
	plan.limit[LIMIT_CPUS_MILLI] = 1500;
	plan.limit[LIMIT_CPU_WEIGHT] = 100;
	memset(&limits, 0, sizeof(limits));
	/* a written value is shorter than some that lie there: empty, where that matters
	 */
	for (size_t i = 0; i < COUNT(fresh); i++)
		put(fresh[i].file, fresh[i].text);
	put("memory.max", "");
	put("memory.swap.max", "");
	put("pids.max", "");
	put("cpu.max", "");
}

static void close_leaf(void)
{
	io_close_fd(&leaf);
}

START_TEST(limits_are_written_and_read_back)
{
	struct err e = { 0 };

	put("cpu.weight", "");
	put("memory.high", "");
	ck_assert_int_eq(cgroup_limit(leaf, &plan, &limits, &e), 0);
	/* what the kernel has by itself is left alone */
	ck_assert_str_eq(got("cpu.weight"), "");
	ck_assert_str_eq(got("memory.high"), "");
	put("cpu.weight", "100\n");
	put("memory.high", "max\n");
	ck_assert_str_eq(got("memory.max"), "67108864");
	ck_assert_str_eq(got("memory.swap.max"), "0");
	ck_assert_str_eq(got("pids.max"), "33"); /* init too */
	ck_assert_str_eq(got("cpu.max"), "150000 100000");
	ck_assert(!limits.known);
	ck_assert_msg(cgroup_verify(leaf, &plan, &limits, &e) == 0, "%s", e.text);
	ck_assert(limits.known);
	ck_assert_str_eq(limits.text[0], "67108864");
}
END_TEST

START_TEST(every_option_has_its_file)
{
	struct err e = { 0 };

	plan.limit[LIMIT_MEMORY_BYTES] = (64 << 20) + 4095; /* whole pages are kept */
	plan.limit[LIMIT_MEMORY_HIGH_BYTES] = 32 << 20;
	plan.limit[LIMIT_SWAP_BYTES] = 16 << 20;
	plan.limit[LIMIT_CPUS_MILLI] = NO_LIMIT;
	plan.limit[LIMIT_CPU_WEIGHT] = 10000;
	plan.oom_group = ANSWER_YES;
	plan.cpuset = "0-2";
	put("memory.high", "");
	put("memory.oom.group", "");
	put("cpu.weight", "");
	put("cpuset.cpus", "");
	put("cpu.max", "max 100000\n");
	put("cpuset.cpus.effective", "0-2\n");
	ck_assert_int_eq(cgroup_limit(leaf, &plan, &limits, &e), 0);
	ck_assert_str_eq(got("memory.max"), "67108864");
	ck_assert_str_eq(got("memory.high"), "33554432");
	ck_assert_str_eq(got("memory.swap.max"), "16777216");
	ck_assert_str_eq(got("memory.oom.group"), "1");
	ck_assert_str_eq(got("cpu.max"), "max 100000\n");
	ck_assert_str_eq(got("cpu.weight"), "10000");
	ck_assert_str_eq(got("cpuset.cpus"), "0-2");
	ck_assert_msg(cgroup_verify(leaf, &plan, &limits, &e) == 0, "%s", e.text);
}
END_TEST

/* anything but the plan is an error that names the file */
START_TEST(another_answer_is_refused)
{
	static const char *const answers[] = { "max\n", "1\n", "", "garbage\n" };
	const char *file = fresh[_i].file;
	struct err e;

	plan.cpuset = "0";
	put("cpuset.cpus", "");
	put("cpuset.cpus.effective", "0\n");
	ck_assert_int_eq(cgroup_limit(leaf, &plan, &limits, &e), 0);
	ck_assert_int_eq(cgroup_verify(leaf, &plan, &limits, &e), 0);
	for (size_t i = 0; i < COUNT(answers); i++) {
		/* these two are as planned */
		if (strcmp(answers[i], "max\n") == 0 && strcmp(file, "memory.high") == 0)
			continue;
		put(file, answers[i]);
		limits.known = false;
		ck_assert_msg(cgroup_verify(leaf, &plan, &limits, &e) == -EPROTO,
			      "%s reads %s", file, answers[i]);
		ck_assert(!limits.known);
		ck_assert_ptr_nonnull(strstr(e.text, file));
		ck_assert_ptr_nonnull(strstr(e.text, "was planned"));
	}
}
END_TEST

/* a kernel may lack a file only where its own initial value is what was planned */
START_TEST(a_missing_file_is_an_error_where_it_is_needed)
{
	static const struct {
		const char *file;
		bool may;
	} files[] = {
		{ "memory.max", false }, { "memory.high", true },
		{ "pids.max", false },   { "cpu.max", false },
		{ "cpu.weight", true },  { "memory.oom.group", true },
		{ "cpuset.cpus", true }, { "cpuset.cpus.effective", true },
		{ "io.max", true },
	};
	struct err e = { 0 };
	int r, v;

	ck_assert_int_eq(unlink(unit_path(base, files[_i].file)), 0);
	r = cgroup_limit(leaf, &plan, &limits, &e);
	v = cgroup_verify(leaf, &plan, &limits, &e);
	ck_assert_int_eq(r, files[_i].may ? 0 : -ENOENT);
	ck_assert_int_eq(v, files[_i].may ? 0 : -ENOENT);
	ck_assert(limits.known == files[_i].may);
}
END_TEST

static void make_asking(void)
{
	plan.limit[LIMIT_MEMORY_HIGH_BYTES] = 4096;
	plan.limit[LIMIT_CPU_WEIGHT] = 1;
	plan.oom_group = ANSWER_YES;
	plan.cpuset = "0";
}

START_TEST(an_asked_for_file_may_not_be_missing)
{
	static const char *const files[] = { "memory.high", "cpu.weight",
					     "memory.oom.group", "cpuset.cpus" };
	struct err e = { 0 };

	make_asking();
	ck_assert_int_eq(unlink(unit_path(base, files[_i])), 0);
	ck_assert_int_eq(cgroup_limit(leaf, &plan, &limits, &e), -ENOENT);
	ck_assert_ptr_nonnull(strstr(e.text, files[_i]));
}
END_TEST

/* a disk of this machine, "MAJOR:MINOR" of its sysfs entry; false where there is none */
static bool any_disk(char *number, size_t size)
{
	for (unsigned int minor = 0; minor < 8; minor++) {
		static const unsigned int majors[] = { 8, 254, 253, 252, 259, 7, 179 };

		for (size_t i = 0; i < COUNT(majors); i++) {
			char path[64];

			(void)snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/size",
				       majors[i], minor);
			(void)snprintf(number, size, "%u:%u", majors[i], minor);
			if (access(path, F_OK) < 0)
				continue;
			(void)snprintf(path, sizeof(path), "/sys/dev/block/%s/partition",
				       number);
			if (access(path, F_OK) < 0)
				return true;
		}
	}
	return false;
}

START_TEST(disks_are_limited)
{
	char number[32], spec[96], want[128], line[160];
	struct err e = { 0 };

	if (!any_disk(number, sizeof(number))) {
		unit_skip("io.max of a disk: this machine has none in /sys/dev/block");
		return;
	}
	(void)snprintf(spec, sizeof(spec), "%s rbps=1M wiops=120", number);
	ck_assert_int_eq(plan_add_io(&plan, spec, &e), 0);
	ck_assert_msg(cgroup_limit(leaf, &plan, &limits, &e) == 0, "%s", e.text);
	(void)snprintf(want, sizeof(want), "%s rbps=1048576 wbps=max riops=max wiops=120",
		       number);
	ck_assert_str_eq(got("io.max"), want);
	/* the kernel ends it with a newline, and may know of others */
	(void)snprintf(line, sizeof(line), "1:2 rbps=1\n%s\n", want);
	put("io.max", line);
	ck_assert_msg(cgroup_verify(leaf, &plan, &limits, &e) == 0, "%s", e.text);
	/* a line that only begins or ends like it is not it */
	(void)snprintf(line, sizeof(line), "%s0\n", want);
	put("io.max", line);
	ck_assert_int_eq(cgroup_verify(leaf, &plan, &limits, &e), -EPROTO);
	ck_assert(!limits.known);
	ck_assert_ptr_null(strchr(e.text, '\n'));
	(void)snprintf(line, sizeof(line), "1%s\n", want);
	put("io.max", line);
	ck_assert_int_eq(cgroup_verify(leaf, &plan, &limits, &e), -EPROTO);
}
END_TEST

START_TEST(what_is_no_disk_is_named)
{
	static const struct {
		const char *spec;
		int r;
	} rows[] = {
		{ "/nowhere/at/all rbps=1", -ENOENT },
		{ "/proc rbps=1", -ENODEV }, /* no disk below it */
		{ "4095:1048575 rbps=1", -ENODEV },
	};
	struct err e = { 0 };

	ck_assert_int_eq(plan_add_io(&plan, rows[_i].spec, &e), 0);
	ck_assert_int_eq(cgroup_limit(leaf, &plan, &limits, &e), rows[_i].r);
	ck_assert_int_eq(strncmp(e.text, "--io-max: ", 10), 0);
	ck_assert_str_eq(got("io.max"), "");
}
END_TEST

static cJSON *printed(void (*print)(FILE *out), bool list)
{
	size_t size = 0;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);
	cJSON *whole;

	(void)fputs(list ? "[" : "", out);
	print(out);
	(void)fputs(list ? "]" : "", out);
	ck_assert_int_eq(fclose(out), 0);
	whole = cJSON_ParseWithOpts(text, NULL, 1);
	ck_assert_msg(whole != NULL, "%s", text);
	free(text);
	return whole;
}

static void print_limits(FILE *out)
{
	cgroup_limits_print(&limits, out);
}

static void print_missing(FILE *out)
{
	(void)cgroup_limits_missing(&plan, NULL, out);
}

START_TEST(limits_are_printed)
{
	struct err e = { 0 };
	cJSON *whole = printed(print_limits, false);

	ck_assert(cJSON_IsNull(whole));
	cJSON_Delete(whole);
	ck_assert_int_eq(unlink(unit_path(base, "cpuset.cpus")), 0);
	ck_assert_int_eq(cgroup_limit(leaf, &plan, &limits, &e), 0);
	ck_assert_int_eq(cgroup_verify(leaf, &plan, &limits, &e), 0);
	whole = printed(print_limits, false);
	for (size_t i = 0; i < COUNT(fresh); i++)
		ck_assert_msg(cJSON_HasObjectItem(whole, fresh[i].file), "no %s",
			      fresh[i].file);
	ck_assert_int_eq(cJSON_GetArraySize(whole), (int)COUNT(fresh));
	ck_assert_str_eq(cJSON_GetObjectItemCaseSensitive(whole, "cpu.max")->valuestring,
			 "150000 100000");
	ck_assert(cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(whole, "cpuset.cpus")));
	cJSON_Delete(whole);
}
END_TEST

/* without a leaf, everything that was asked for is named */
START_TEST(what_is_not_enforced_is_named)
{
	static const char *const all[] = {
		"memory.max:",       "memory.high:", "memory.swap.max:",
		"memory.oom.group:", "pids.max:",    "cpu.max:",
		"cpu.weight:",       "cpuset.cpus:", "io.max / r",
	};
	cJSON *whole = printed(print_missing, true);
	struct err e = { 0 };

	ck_assert_int_eq(cJSON_GetArraySize(whole), 4);
	cJSON_Delete(whole);
	make_asking();
	ck_assert_int_eq(plan_add_io(&plan, "/ rbps=1M", &e), 0);
	whole = printed(print_missing, true);
	ck_assert_int_eq(cJSON_GetArraySize(whole), (int)COUNT(all));
	for (size_t i = 0; i < COUNT(all); i++)
		ck_assert_int_eq(strncmp(cJSON_GetArrayItem(whole, (int)i)->valuestring,
					 all[i], strlen(all[i])),
				 0);
	cJSON_Delete(whole);
}
END_TEST

/* the folder of all leaves: the first number that is named holds for all */
START_TEST(all_jails_have_one_number)
{
	static const struct {
		const char *there;
		uint64_t bytes;
		int result;
		const char *after;
	} rows[] = {
		{ "max\n", NO_LIMIT, 0, "max\n" },
		/* a plain file keeps the end of what was longer */
		{ "max", 64 << 20, 0, "67108864" },
		{ "67108864\n", 64 << 20, 0, "67108864\n" },
		{ "67108864\n", (64 << 20) + 1, 0, "67108864\n" },
		{ "67108864\n", 128 << 20, -EPROTO, "67108864\n" },
		{ "67108864\n", 32 << 20, -EPROTO, "67108864\n" },
		{ "67108864\n", NO_LIMIT, 0, "67108864\n" },
		{ "", 64 << 20, -EPROTO, "" },
	};
	struct err e = { 0 };

	plan.limit[LIMIT_TOTAL_PIDS] = plan.limit[LIMIT_TOTAL_CPUS_MILLI] = NO_LIMIT;
	for (size_t i = 0; i < COUNT(rows); i++) {
		put("memory.max", rows[i].there);
		plan.limit[LIMIT_TOTAL_MEMORY_BYTES] = rows[i].bytes;
		ck_assert_msg(cgroup_limit_total(leaf, &plan, &e) == rows[i].result,
			      "row %zu: %s", i, e.text);
		ck_assert_str_eq(got("memory.max"), rows[i].after);
	}
	plan.limit[LIMIT_TOTAL_MEMORY_BYTES] = NO_LIMIT;
	plan.limit[LIMIT_TOTAL_PIDS] = 4000;
	plan.limit[LIMIT_TOTAL_CPUS_MILLI] = 2500;
	put("pids.max", "max");
	put("cpu.max", "max 100000\n");
	ck_assert_msg(cgroup_limit_total(leaf, &plan, &e) == 0, "%s", e.text);
	ck_assert_str_eq(got("pids.max"), "4000");
	ck_assert_str_eq(got("cpu.max"), "250000 100000");
	MUST(unlinkat(leaf, "pids.max", 0) == 0);
	ck_assert_int_eq(cgroup_limit_total(leaf, &plan, &e), -ENOENT);
	ck_assert_ptr_nonnull(strstr(e.text, "pids.max of all jails together"));
}
END_TEST

Suite *jail_cgroup_limit_suite(void)
{
	Suite *s = suite_create("jail cgroup limit");
	TCase *c = tcase_create("cgroup limit");

	tcase_add_checked_fixture(c, make_leaf, close_leaf);
	tcase_add_test(c, limits_are_written_and_read_back);
	tcase_add_test(c, every_option_has_its_file);
	/* all but io.max, which has a test of its own */
	tcase_add_loop_test(c, another_answer_is_refused, 0, (int)COUNT(fresh) - 1);
	tcase_add_loop_test(c, a_missing_file_is_an_error_where_it_is_needed, 0, 9);
	tcase_add_loop_test(c, an_asked_for_file_may_not_be_missing, 0, 4);
	tcase_add_test(c, disks_are_limited);
	tcase_add_loop_test(c, what_is_no_disk_is_named, 0, 3);
	tcase_add_test(c, limits_are_printed);
	tcase_add_test(c, what_is_not_enforced_is_named);
	tcase_add_test(c, all_jails_have_one_number);
	suite_add_tcase(s, c);
	return s;
}
