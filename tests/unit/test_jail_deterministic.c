/* SPDX-License-Identifier: MIT */
/*
 * test_jail_deterministic.c - instants, what a plan that fixes things tells its program,
 * and what must be read back of it
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/personality.h>
#include <time.h>

#include "jail/plan/plan.h"
#include "jail/walls/deterministic.h"
#include "jail/plan/option.h"
#include "jail/launch/posture.h"
#include "jail/base/clock.h"
#include "tests/unit/suites.h"

static struct plan plan;

#define PARSE(e, ...) option_parse(&plan, (char *[]){ __VA_ARGS__, NULL }, (e))

START_TEST(instants_are_read)
{
	static const struct {
		const char *text;
		int r;
		uint64_t seconds;
	} rows[] = {
		{ "0", 0, 0 },
		{ "1709200800", 0, 1709200800 },
		{ "1970-01-01", 0, 0 },
		{ "1970-01-01T00:00:01Z", 0, 1 },
		{ "2024-02-29T10:00:00Z", 0, 1709200800 },
		{ "2000-02-29", 0, 951782400 },
		{ "2199-12-31T23:59:59Z", 0, 7258118399 },
		{ "7258118399", 0, 7258118399 },
		{ "7258118400", -ERANGE, 0 },
		{ "99999999999999999999", -ERANGE, 0 },
		{ "2200-01-01", -ERANGE, 0 },
		{ "1969-12-31T23:59:59Z", -ERANGE, 0 },
		{ "2023-02-29", -EINVAL, 0 },
		{ "2100-02-29", -EINVAL, 0 },
		{ "2024-13-01", -EINVAL, 0 },
		{ "2024-00-01", -EINVAL, 0 },
		{ "2024-01-00", -EINVAL, 0 },
		{ "2024-04-31", -EINVAL, 0 },
		{ "2024-01-01T24:00:00Z", -EINVAL, 0 },
		{ "2024-01-01T00:60:00Z", -EINVAL, 0 },
		{ "2024-01-01T00:00:60Z", -EINVAL, 0 },
		{ "2024-01-01T00:00:00", -EINVAL, 0 },
		{ "2024-01-01T00:00:00+01:00", -EINVAL, 0 },
		{ "2024-01-01 00:00:00Z", -EINVAL, 0 },
		{ "2024-1-1", -EINVAL, 0 },
		{ "24-01-01", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
		{ "1.5", -EINVAL, 0 },
		{ "now", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		uint64_t seconds = 0;
		struct err e = { 0 };
		int r = timestamp_parse(rows[i].text, &seconds, &e);

		ck_assert_msg(r == rows[i].r, "'%s': %d, %s", rows[i].text, r, e.text);
		ck_assert_int_eq(plan_check_clock_start(rows[i].text, &e), r);
		if (r == 0)
			ck_assert_msg(seconds == rows[i].seconds, "'%s': %" PRIu64,
				      rows[i].text, seconds);
		else
			ck_assert_ptr_nonnull(strstr(e.text, rows[i].text));
	}
}
END_TEST

static bool tells(const char *text)
{
	for (size_t i = 0; i < plan.env_count; i++)
		if (strcmp(plan.env[i], text) == 0)
			return true;
	return false;
}

START_TEST(the_program_is_told)
{
	struct err e;

	ck_assert_int_eq(PARSE(&e, "--net=none"), 0);
	ck_assert_uint_eq(plan.env_count, 3);
	ck_assert_int_eq(plan.deterministic, ANSWER_NO);
	ck_assert_int_eq(plan.aslr, ASLR_YES);
	ck_assert_uint_eq(deterministic_domain(&plan), PER_LINUX);

	ck_assert_int_eq(PARSE(&e, "--deterministic", "--seed=7", "--aslr=no"), 0);
	ck_assert_uint_eq(plan.env_count, 7);
	ck_assert(tells("PYTHONHASHSEED=7") && tells("STEPJAIL_DETERMINISTIC=7"));
	ck_assert(tells("LC_ALL=C.UTF-8") && tells("LANG=C.UTF-8") && tells("TZ=UTC"));
	ck_assert_uint_eq(deterministic_domain(&plan), ADDR_NO_RANDOMIZE);

	ck_assert_int_eq(PARSE(&e, "--clock-start=2024-02-29"), 0);
	ck_assert(tells("STEPJAIL_CLOCK_START=1709164800"));
	ck_assert_uint_eq(plan.env_count, 4);
}
END_TEST

START_TEST(contradictions_are_refused)
{
	struct err e;

	ck_assert_int_eq(PARSE(&e, "--deterministic", "--env", "TZ=UTC"), 0);
	ck_assert_int_eq(PARSE(&e, "--deterministic", "--env", "TZ=CET"), -EINVAL);
	ck_assert_ptr_nonnull(strstr(e.text, "leave out --env TZ=CET"));
	ck_assert_int_eq(PARSE(&e, "--env", "LANG=C", "--deterministic"), -EINVAL);
	ck_assert_int_eq(PARSE(&e, "--deterministic", "--env", "PYTHONHASHSEED=1"),
			 -EINVAL);
	ck_assert_int_eq(PARSE(&e, "--clock-start=0", "--env", "STEPJAIL_CLOCK_START=1"),
			 -EINVAL);
	ck_assert_int_eq(strncmp(e.text, "--clock-start: ", 15), 0);
	ck_assert_int_eq(PARSE(&e, "--seed=1"), -EINVAL);
	ck_assert_int_eq(PARSE(&e, "--seed=0"), 0);
}
END_TEST

typedef int look_fn(const struct look *l, struct err *e);

/* when the jail was launched, if that was before look() */
static uint64_t launch_ms;

static int look(look_fn *f, const char *name, const char *text, struct err *e)
{
	static char copy[512];
	struct jail jail = { .plan = &plan,
			     .start_ms = launch_ms ? launch_ms : clock_now_ms() };

	struct look l = { .jail = &jail, .name = name, .text = copy };

	l.out = fopen("/dev/null", "we");
	(void)snprintf(copy, sizeof(copy), "%s", text);
	*e = (struct err){ 0 };

	int r = f(&l, e);

	ck_assert_int_eq(fclose(l.out), 0);
	return r;
}

START_TEST(what_was_asked_is_read_back)
{
	static const char *const many[] = { "Cpus_allowed_list:\t0-1\n",
					    "Cpus_allowed_list:\t0,2\n",
					    "Cpus_allowed_list:\t\n", "Cpus:\t0\n", "" };
	struct err e;

	ck_assert_int_eq(look(posture_cpu, "cpu", "a\nCpus_allowed_list:\t12\nb\n", &e),
			 0);
	for (size_t i = 0; i < COUNT(many); i++) {
		ck_assert_int_eq(look(posture_cpu, "cpu", many[i], &e), -EPERM);
		ck_assert_ptr_nonnull(strstr(e.text, "one CPU"));
	}
	plan.aslr = ASLR_NO;
	ck_assert_int_eq(look(posture_domain, "personality", "00040000\n", &e), 0);
	ck_assert_int_eq(look(posture_domain, "personality", "00000000\n", &e), -EPERM);
	ck_assert_int_eq(look(posture_domain, "personality", "00440000\n", &e), -EPERM);
	ck_assert_int_eq(look(posture_domain, "personality", "", &e), -EPERM);
}
END_TEST

static int clocks_once(int64_t mono_s, int64_t boot_s, struct err *e)
{
	char text[160];
	struct timespec mono, boot;

	ck_assert_int_eq(clock_gettime(CLOCK_MONOTONIC, &mono), 0);
	ck_assert_int_eq(clock_gettime(CLOCK_BOOTTIME, &boot), 0);
	(void)snprintf(text, sizeof(text),
		       "monotonic %" PRId64 " %ld\nboottime %" PRId64 " %ld\n",
		       -(int64_t)mono.tv_sec - 1 + mono_s, 1000000000L - mono.tv_nsec,
		       -(int64_t)boot.tv_sec - 1 + boot_s, 1000000000L - boot.tv_nsec);
	return look(posture_clocks, "clock_offsets", text, e);
}

/* a process that stood still in between has shown nothing of a second more or less */
static int clocks(int64_t mono_s, int64_t boot_s, struct err *e)
{
	int r;

	do {
		launch_ms = clock_now_ms();
		r = clocks_once(mono_s, boot_s, e);
	} while (clock_now_ms() - launch_ms > 500);
	launch_ms = 0;
	return r;
}

START_TEST(clocks_start_at_the_launch)
{
	static const int64_t off[] = { -1000000, -60, -1, 1, 60, 1000000 };
	struct err e;

	ck_assert_int_eq(clocks(0, 0, &e), 0);
	for (size_t i = 0; i < COUNT(off); i++) {
		ck_assert_int_eq(clocks(off[i], 0, &e), -EPERM);
		ck_assert_ptr_nonnull(strstr(e.text, "monotonic has the offset"));
		ck_assert_int_eq(clocks(0, off[i], &e), -EPERM);
		ck_assert_ptr_nonnull(strstr(e.text, "boottime has the offset"));
	}
	ck_assert_int_eq(look(posture_clocks, "x", "monotonic 0 0\nboottime 0 0\n", &e),
			 -EPERM);
	ck_assert_int_eq(look(posture_clocks, "x", "", &e), -EPERM);
}
END_TEST

Suite *jail_deterministic_suite(void)
{
	Suite *s = suite_create("jail deterministic");
	TCase *c = tcase_create("deterministic");

	tcase_add_test(c, instants_are_read);
	tcase_add_test(c, the_program_is_told);
	tcase_add_test(c, contradictions_are_refused);
	tcase_add_test(c, what_was_asked_is_read_back);
	tcase_add_test(c, clocks_start_at_the_launch);
	suite_add_tcase(s, c);
	return s;
}
