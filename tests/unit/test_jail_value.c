/* SPDX-License-Identifier: MIT */
/*
 * test_jail_value.c - numbers with units
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "jail/plan/plan.h"
#include "jail/plan/value.h"
#include "tests/unit/suites.h"

#define K (1ULL << 10)
#define M (1ULL << 20)
#define G (1ULL << 30)
#define T (1ULL << 40)

static const struct {
	enum value_kind kind;
	const char *text;
	uint64_t value;
} good[] = {
	{ VALUE_SIZE, "0", 0 },
	{ VALUE_SIZE, "512", 512 },
	{ VALUE_SIZE, "007", 7 },
	{ VALUE_SIZE, "64K", 64 * K },
	{ VALUE_SIZE, "64KiB", 64 * K },
	{ VALUE_SIZE, "3M", 3 * M },
	{ VALUE_SIZE, "3MiB", 3 * M },
	{ VALUE_SIZE, "3m", 3 * M },
	{ VALUE_SIZE, "3MB", 3 * M },
	{ VALUE_SIZE, "3mb", 3 * M },
	{ VALUE_SIZE, "1kib", K },
	{ VALUE_SIZE, "9B", 9 },
	{ VALUE_SIZE, "1.5G", G + G / 2 },
	{ VALUE_SIZE, "2GiB", 2 * G },
	{ VALUE_SIZE, "1T", T },
	{ VALUE_SIZE, "0.125TiB", T / 8 },
	{ VALUE_SIZE, "0.5K", 512 },
	{ VALUE_SIZE, "7.0", 7 },
	{ VALUE_SIZE, "1.500K", 1536 },
	{ VALUE_TIME, "2", 2000 },
	{ VALUE_TIME, "2s", 2000 },
	{ VALUE_TIME, "250ms", 250 },
	{ VALUE_TIME, "1.0ms", 1 },
	{ VALUE_TIME, "0.0625h", 225000 },
	{ VALUE_SIZE, "0.0625K", 64 },
	{ VALUE_TIME, "1.5s", 1500 },
	{ VALUE_TIME, "1.5", 1500 },
	{ VALUE_TIME, "0.001s", 1 },
	{ VALUE_TIME, "0.001", 1 },
	{ VALUE_TIME, "10m", 600000 },
	{ VALUE_TIME, "0.5m", 30000 },
	{ VALUE_TIME, "1h", 3600000 },
	{ VALUE_TIME, "1.25h", 4500000 },
	{ VALUE_TIME, "0", 0 },
	{ VALUE_COUNT, "0", 0 },
	{ VALUE_COUNT, "32", 32 },
	{ VALUE_COUNT, "18000000000000000", 18000000000000000ULL },
	{ VALUE_CPUS, "2", 2000 },
	{ VALUE_CPUS, "0.25", 250 },
	{ VALUE_CPUS, "0.001", 1 },
	{ VALUE_CPUS, "1.5", 1500 },
};

START_TEST(every_unit_is_read)
{
	struct err e;

	for (size_t i = 0; i < COUNT(good); i++) {
		uint64_t n = 77;

		ck_assert_msg(value_parse(good[i].kind, good[i].text, &n, &e) == 0,
			      "%s: %s", good[i].text, e.text);
		ck_assert_msg(n == good[i].value, "%s: %" PRIu64, good[i].text, n);
	}
}
END_TEST

/* refused as every kind of number */
static const char *const junk[] = {
	"",     " ",        "x",     "-1",    "+1",        "-0",        " 1",   "1 ",
	"\t1",  "1\t",      "1\n",   ".",     ".5",        "5.",        "1..5", "1.2.3",
	"1,5",  "1e3",      "0x10",  "1_000", "1.2345",    "0.0000000", "1K1",  "K",
	"--1",  "1-",       "NaN",   "inf",   "unlimited", "1 K",       "1KK",  "1Ki",
	"1bki", "\xd9\xa1", "1\x80", "1s ",   "1mss",      "1hs",       "١",
};

static const struct {
	enum value_kind kind;
	const char *text;
} bad[] = {
	{ VALUE_SIZE, "1s" },     { VALUE_SIZE, "1ms" },    { VALUE_SIZE, "1iB" },
	{ VALUE_SIZE, "1Ki" },    { VALUE_SIZE, "1KBB" },   { VALUE_SIZE, "1 MB" },
	{ VALUE_SIZE, "1Kib " },  { VALUE_SIZE, "1P" },     { VALUE_SIZE, "1i" },
	{ VALUE_SIZE, "0.5" },    { VALUE_SIZE, "0.001K" }, { VALUE_SIZE, "16383.999T" },
	{ VALUE_TIME, "1K" },     { VALUE_TIME, "1M" },     { VALUE_TIME, "1d" },
	{ VALUE_TIME, "1us" },    { VALUE_TIME, "0.5ms" },  { VALUE_TIME, "1.001ms" },
	{ VALUE_TIME, "1S" },     { VALUE_TIME, "1sec" },   { VALUE_TIME, "1H" },
	{ VALUE_COUNT, "1K" },    { VALUE_COUNT, "1s" },    { VALUE_COUNT, "0.5" },
	{ VALUE_COUNT, "1.001" }, { VALUE_CPUS, "1s" },     { VALUE_CPUS, "50%" },
	{ VALUE_CPUS, "0.0005" },
};

static void ck_refused(enum value_kind kind, const char *text, int want)
{
	uint64_t n = 77;
	struct err e = { 0 };
	char shown[64];

	ck_assert_msg(value_parse(kind, text, &n, &e) == want, "kind %d, '%s': %s", kind,
		      text, e.text);
	ck_assert_msg(n == 77, "'%s' changed the value", text);
	ck_assert_int_eq(e.errnum, -want);
	ck_assert_ptr_nonnull(strchr(e.text, '\''));
	/* as far as an error repeats it: see err.h */
	(void)snprintf(shown, sizeof(shown), "%.*s", (int)strcspn(text, "\n"), text);
	ck_assert_msg(strstr(e.text, shown) != NULL, "'%s' is not in: %s", text, e.text);
}

START_TEST(junk_is_refused)
{
	for (int kind = VALUE_SIZE; kind <= VALUE_CPUS; kind++)
		for (size_t i = 0; i < COUNT(junk); i++)
			ck_refused((enum value_kind)kind, junk[i], -EINVAL);
	for (size_t i = 0; i < COUNT(bad); i++)
		ck_refused(bad[i].kind, bad[i].text, -EINVAL);
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
	static const struct {
		enum value_kind kind;
		const char *text;
	} rows[] = {
		{ VALUE_SIZE, "18446744073709551616" },
		{ VALUE_SIZE, "18446744073709551615" }, /* that is NO_LIMIT */
		{ VALUE_SIZE, "16777216T" },
		{ VALUE_SIZE, "18014398509481984K" },
		{ VALUE_SIZE, "99999999999999999999999999999999999999999999999999" },
		{ VALUE_TIME, "18446744073709552" },
		{ VALUE_TIME, "5124095576031h" },
		{ VALUE_TIME, "99999999999999999999h" },
		{ VALUE_COUNT, "18446744073709551615" },
		{ VALUE_COUNT, "18446744073709551616" },
		{ VALUE_CPUS, "18446744073709552" },
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		ck_refused(rows[i].kind, rows[i].text, -ERANGE);
}
END_TEST

START_TEST(numbers_are_printed_for_people)
{
	static const struct {
		enum value_kind kind;
		uint64_t value;
		const char *text;
	} rows[] = {
		{ VALUE_SIZE, 0, "0" },          { VALUE_SIZE, 1, "1" },
		{ VALUE_SIZE, 1023, "1023" },    { VALUE_SIZE, K, "1K" },
		{ VALUE_SIZE, K + 1, "1025" },   { VALUE_SIZE, 1536 * K, "1536K" },
		{ VALUE_SIZE, 256 * M, "256M" }, { VALUE_SIZE, G, "1G" },
		{ VALUE_SIZE, 5 * T, "5T" },     { VALUE_TIME, 0, "0" },
		{ VALUE_TIME, 1, "1ms" },        { VALUE_TIME, 250, "250ms" },
		{ VALUE_TIME, 2000, "2s" },      { VALUE_TIME, 90000, "90s" },
		{ VALUE_TIME, 60000, "1m" },     { VALUE_TIME, 3600000, "1h" },
		{ VALUE_COUNT, 0, "0" },         { VALUE_COUNT, 4096, "4096" },
		{ VALUE_CPUS, 2000, "2" },       { VALUE_CPUS, 250, "0.250" },
		{ VALUE_CPUS, 1, "0.001" },      { VALUE_CPUS, 0, "0" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		char text[VALUE_TEXT_MAX];

		ck_assert_ptr_eq(value_print(rows[i].kind, rows[i].value, text), text);
		ck_assert_str_eq(text, rows[i].text);
	}
}
END_TEST

static void ck_round_trip(enum value_kind kind, uint64_t n)
{
	char text[VALUE_TEXT_MAX + 1];
	uint64_t back = ~n;
	struct err e;

	text[VALUE_TEXT_MAX] = 0x5a;
	(void)value_print(kind, n, text);
	if (value_parse(kind, text, &back, &e) != 0 || back != n ||
	    text[VALUE_TEXT_MAX] != 0x5a)
		ck_abort_msg("kind %d: %" PRIu64 " is printed as %s", kind, n, text);
}

START_TEST(what_is_printed_reads_back)
{
	static const uint64_t whole[] = { 1, 10, 1000, 60000, 3600000, K, M, G, T };
	uint64_t state = 5;

	for (int kind = VALUE_SIZE; kind <= VALUE_CPUS; kind++) {
		for (uint64_t n = 0; n < 5000; n++)
			ck_round_trip((enum value_kind)kind, n);
		for (size_t i = 0; i < COUNT(whole); i++)
			for (uint64_t n = 0; n < 2000; n++)
				ck_round_trip((enum value_kind)kind, whole[i] * n);
		/* every magnitude, up to far more than any machine has */
		for (int i = 0; i < 20000; i++) {
			uint64_t n = unit_random(&state);

			ck_round_trip((enum value_kind)kind, n >> 10 >> (n % 54));
		}
	}
}
END_TEST

/* up to the largest number that is not NO_LIMIT, as value.h promises */
START_TEST(the_largest_numbers_read_back)
{
	static const uint64_t rows[] = { NO_LIMIT / 1000, NO_LIMIT / 1000 + 1,
					 NO_LIMIT / 10,   NO_LIMIT / 2,
					 NO_LIMIT - K,    NO_LIMIT - 2,
					 NO_LIMIT - 1 };

	for (int kind = VALUE_SIZE; kind <= VALUE_CPUS; kind++)
		for (size_t i = 0; i < COUNT(rows); i++)
			ck_round_trip((enum value_kind)kind, rows[i]);
}
END_TEST

/* as the kernel writes them, so that what it says can be compared */
START_TEST(lists_of_cpus_are_checked)
{
	static const char *const lists[] = {
		"0", "5", "0-1", "0-1,3", "0,2,4", "1023", "0,1022-1023", "0-1023",
	};
	static const char *const none[] = {
		"",
		",",
		"1,",
		"1,,3",
		",1",
		"1-",
		"-1",
		"+1",
		"3-1",
		"1-2-3",
		"1 ,3",
		"1, 3",
		"0-7:2",
		"all",
		"0x1",
		"1024",
		"0-1024",
		"99999999999999999999999",
		"3,1",
		"5-5",
		"1,1",
		"5-5,5",
		"0-3,3",
		"0-3,2-5",
		"0-99999999999999999999999",
		"0,1",
		"0-1,2", /* ranges, to the kernel */
		"1x",
		"0-1x",
		" 1",
		"1 ",
	};

	for (size_t i = 0; i < COUNT(lists); i++)
		ck_assert_msg(value_check_cpus(lists[i], &(struct err){ 0 }) == 0, "'%s'",
			      lists[i]);
	for (size_t i = 0; i < COUNT(none); i++) {
		struct err e = { 0 };

		ck_assert_msg(value_check_cpus(none[i], &e) == -EINVAL, "'%s'", none[i]);
		ck_assert_ptr_nonnull(strstr(e.text, none[i]));
	}
}
END_TEST

Suite *jail_value_suite(void)
{
	Suite *s = suite_create("jail value");
	TCase *c = tcase_create("value");

	tcase_add_test(c, every_unit_is_read);
	tcase_add_test(c, junk_is_refused);
	tcase_add_test(c, what_does_not_fit_is_refused);
	tcase_add_test(c, numbers_are_printed_for_people);
	tcase_add_test(c, what_is_printed_reads_back);
	tcase_add_test(c, the_largest_numbers_read_back);
	tcase_add_test(c, lists_of_cpus_are_checked);
	suite_add_tcase(s, c);
	return s;
}
