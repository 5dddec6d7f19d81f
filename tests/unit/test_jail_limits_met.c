/* SPDX-License-Identifier: MIT */
/*
 * test_jail_limits_met.c - which limits explain an end, and which of them is a hint
 */
#include "jail/watch/outcome.h"
#include "tests/unit/suites.h"

#define TOLD_EXIT(code) .have_exit = true, .exit.wstatus = (uint32_t)(code) << 8
#define BIT(limit) (1ULL << LIMIT_##limit)
#define M (1ULL << 20)

/* plan: --memory 64M, --pids 8, no --file-size */
static const struct {
	const char *what;
	struct outcome o;
	uint64_t met, near;
} explained[] = {
	{ "nothing", { TOLD_EXIT(1) }, 0, 0 },
	{ "wall", { .killed = VERDICT_WALL_TIMEOUT }, BIT(WALL_MS), 0 },
	{ "wall near memory",
	  { .killed = VERDICT_WALL_TIMEOUT, .peak.memory_bytes = 63 * M },
	  BIT(WALL_MS),
	  0 },
	{ "a peak of samples",
	  { TOLD_EXIT(1), .peak.memory_bytes = 48 * M },
	  0,
	  BIT(MEMORY_BYTES) },
	{ "less", { TOLD_EXIT(1), .peak.memory_bytes = 48 * M - 1 }, 0, 0 },
	{ "a peak of init's",
	  { TOLD_EXIT(1), .exit.max_rss_bytes = 64 * M },
	  0,
	  BIT(MEMORY_BYTES) },
	{ "a peak without harm", { TOLD_EXIT(0), .peak.memory_bytes = 64 * M }, 0, 0 },
	{ "a peak in a leaf",
	  { TOLD_EXIT(1), .cgroup = true, .usage.memory_peak_bytes = 64 * M },
	  0,
	  0 },
	{ "tasks", { TOLD_EXIT(1), .peak.tasks = 8 }, 0, BIT(PIDS) },
	{ "tasks, one less", { TOLD_EXIT(1), .peak.tasks = 7 }, 0, 0 },
	{ "forks refused, no harm",
	  { TOLD_EXIT(0), .cgroup = true,
	    .usage = { .pids_refused = 1, .pids_peak = 9 } },
	  BIT(PIDS),
	  0 },
	{ "forks refused above the leaf",
	  { TOLD_EXIT(1), .cgroup = true,
	    .usage = { .pids_refused = 1, .pids_peak = 5 } },
	  0,
	  0 },
	{ "a child killed, no harm",
	  { TOLD_EXIT(0), .cgroup = true, .usage = { .oom_kills = 1, .ooms = 1 } },
	  BIT(MEMORY_BYTES),
	  0 },
	{ "a child killed for the host",
	  { TOLD_EXIT(0), .cgroup = true, .usage = { .oom_kills = 1 } },
	  0,
	  0 },
	{ "full, and the word of a step",
	  { TOLD_EXIT(1), .full = TMPFS_USAGE_WORK, .met = WIRE_MET_DISK },
	  BIT(WORK_BYTES),
	  0 },
	{ "words",
	  { TOLD_EXIT(1), .met = WIRE_MET_TASKS | WIRE_MET_FILES },
	  0,
	  BIT(PIDS) | BIT(FILES) },
	{ "words about no limit", { TOLD_EXIT(1), .met = WIRE_MET_FILE_SIZE }, 0, 0 },
	{ "words in a leaf",
	  { TOLD_EXIT(1), .cgroup = true, .met = WIRE_MET_MEMORY },
	  0,
	  0 },
	{ "hostile words",
	  { TOLD_EXIT(1), .met = UINT32_MAX },
	  0,
	  BIT(MEMORY_BYTES) | BIT(PIDS) | BIT(FILES) | BIT(WORK_BYTES) | BIT(TMP_BYTES) },
};

START_TEST(limits_explain_an_end)
{
	struct outcome o = explained[_i].o;
	struct judgement j;
	struct plan plan;

	plan_init(&plan);
	for (size_t i = 0; i < LIMIT_COUNT; i++)
		plan.limit[i] = 1000 * M;
	plan.limit[LIMIT_MEMORY_BYTES] = 64 * M;
	plan.limit[LIMIT_PIDS] = 8;
	plan.limit[LIMIT_FILE_BYTES] = NO_LIMIT;
	o.started = true;
	outcome_judge(&o, &plan, &j);
	ck_assert_msg(j.met == explained[_i].met, "%s: %#llx", explained[_i].what,
		      (unsigned long long)j.met);
	ck_assert_msg(j.near == explained[_i].near, "%s: %#llx", explained[_i].what,
		      (unsigned long long)j.near);
}
END_TEST

Suite *jail_limits_met_suite(void)
{
	Suite *s = suite_create("jail limits met");
	TCase *c = tcase_create("limits met");

	tcase_add_loop_test(c, limits_explain_an_end, 0, (int)COUNT(explained));
	suite_add_tcase(s, c);
	return s;
}
