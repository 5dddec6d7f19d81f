/* SPDX-License-Identifier: MIT */
/*
 * test_jail_explain.c - what explain prints makes the same plan when it is fed back
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jail/base/command.h"
#include "jail/plan/option.h"
#include "jail/plan/option_row.h"
#include "tests/unit/suites.h"

#define WORDS_MAX 160
#define WORD_MAX 128

/* static: their strings live as long as the process */
static struct plan first, second;
static char store[WORDS_MAX][WORD_MAX];
static char *words[WORDS_MAX + 1];
static unsigned int word_count;

static void start_words(void)
{
	unit_lives_on();
	word_count = 0;
	words[0] = NULL;
}

static void add_word(const char *name, const char *value)
{
	ck_assert_uint_lt(word_count, WORDS_MAX);
	(void)snprintf(store[word_count], WORD_MAX, "--%s=%s", name, value);
	words[word_count] = store[word_count];
	words[++word_count] = NULL;
}

static void print_to(const char *path, const struct plan *p)
{
	FILE *out = fopen(path, "we");

	ck_assert_ptr_nonnull(out);
	option_print_policy(p, out);
	ck_assert_int_eq(fclose(out), 0);
}

static void ck_binds_same(void)
{
	ck_assert_uint_eq(second.bind_count, first.bind_count);
	for (size_t i = 0; i < first.bind_count; i++) {
		/* in their order: a later bind covers an earlier one */
		ck_assert_str_eq(second.bind[i].src, first.bind[i].src);
		ck_assert_str_eq(second.bind[i].dst, first.bind[i].dst);
		ck_assert_int_eq(second.bind[i].writable, first.bind[i].writable);
	}
}

static void ck_plans_same(void)
{
	ck_assert_uint_eq(second.host_count, first.host_count);
	for (size_t i = 0; i < first.host_count; i++)
		ck_assert_str_eq(second.host[i], first.host[i]);
	ck_assert_uint_eq(second.header_count, first.header_count);
	for (size_t i = 0; i < first.header_count; i++)
		ck_assert_str_eq(second.header[i], first.header[i]);
	ck_assert_str_eq(second.rootfs, first.rootfs);
	ck_assert_str_eq(second.chdir, first.chdir);
	ck_assert_str_eq(second.hostname, first.hostname);
	ck_assert_pstr_eq(second.report, first.report);
	ck_assert_pstr_eq(second.out, first.out);
	ck_assert_int_eq(second.out_hidden, first.out_hidden);
	ck_assert_int_eq(second.net, first.net);
	ck_assert_int_eq(second.proc, first.proc);
	ck_assert_int_eq(second.capture, first.capture);
	ck_assert_int_eq(second.oom_group, first.oom_group);
	ck_assert_pstr_eq(second.cpuset, first.cpuset);
	ck_assert_pstr_eq(second.preload, first.preload);
	ck_assert_int_eq(second.deterministic, first.deterministic);
	ck_assert_int_eq(second.aslr, first.aslr);
	ck_assert_pstr_eq(second.clock_start, first.clock_start);
	ck_assert_uint_eq(second.io_count, first.io_count);
	for (size_t i = 0; i < first.io_count; i++) {
		ck_assert_str_eq(second.io[i].spec, first.io[i].spec);
		ck_assert_mem_eq(second.io[i].rate, first.io[i].rate,
				 sizeof(first.io[i].rate));
	}
	ck_assert_uint_eq(second.allow_missing, first.allow_missing);
	for (size_t i = 0; i < LIMIT_COUNT; i++)
		ck_assert_msg(second.limit[i] == first.limit[i],
			      "limit %zu: %" PRIu64 ", was %" PRIu64, i, second.limit[i],
			      first.limit[i]);
	ck_binds_same();
	ck_assert_uint_eq(second.env_count, first.env_count);
	for (size_t i = 0; i < first.env_count; i++)
		ck_assert_str_eq(second.env[i], first.env[i]);
	ck_assert_ptr_null(second.env[second.env_count]);
	ck_assert_ptr_null(second.argv);
}

/* parse the words, print the plan, read it back, compare every field */
static void ck_round_trip(void)
{
	const char *path = unit_path(unit_folder(), "plan.policy");
	struct err e = { 0 };

	ck_assert_msg(option_parse(&first, words, &e) == 0, "%s", e.text);
	print_to(path, &first);
	ck_assert_msg(
		option_parse(&second,
			     (char *[]){ "--policy", (char *)(uintptr_t)path, NULL },
			     &e) == 0,
		"%s", e.text);
	ck_plans_same();
}

START_TEST(defaults_read_back)
{
	ck_round_trip();
}
END_TEST

/* the mount order is part of a plan: here one of the binds lies within the other */
START_TEST(the_order_of_binds_is_kept)
{
	add_word("bind-rw", "/a:/work/x");
	add_word("bind", "/b:/work/x/y");
	add_word("bind-rw", "/c:/work/x/y/z");
	add_word("bind", "/d:/opt");
	ck_round_trip();
}
END_TEST

START_TEST(odd_values_read_back)
{
	add_word("rootfs", "./a tree\twith # and = and \\ and '\"");
	add_word("report", "#not a comment");
	add_word("env", "A= leading blank of a value");
	add_word("env", "B==");
	add_word("env", "HOME=");
	add_word("env", "\x01\xff=\x1b[31m");
	add_word("bind", "a:b c:/d e/f\tg");
	add_word("bind", "#x:/#y");
	add_word("chdir", "/work/\xc3\xa4");
	ck_round_trip();
}
END_TEST

static uint64_t seed = 20;

static uint64_t below(uint64_t n)
{
	return unit_random(&seed) % n;
}

/* letters that a careless form would trip over */
static const char *random_text(char *text, size_t most)
{
	static const char letters[] = "abcXYZ019 \t#=:/.-_\"'\\\x7f\x80\xff\x01\v\f%$~";
	size_t n = 1 + below(most);

	for (size_t i = 0; i < n; i++)
		text[i] = letters[below(sizeof(letters) - 1)];
	text[n] = '\0';
	if (strchr(" \t", text[0]))
		text[0] = 'b';
	if (strchr(" \t", text[n - 1]))
		text[n - 1] = 'e';
	return text;
}

static void add_random_limit(const struct option_row *row)
{
	char text[VALUE_TEXT_MAX];
	uint64_t n = row->min + below(row->max - row->min + 1);

	if (row->may_be_unlimited && below(3) == 0) {
		add_word(row->name, "unlimited");
		return;
	}
	/* every magnitude, and numbers that are whole in some unit */
	n >>= below(40);
	if (below(2))
		n -= n % 1000;
	if (below(2))
		n -= n % 1024;
	if (n < row->min)
		n = row->min;
	add_word(row->name, value_print(row->kind, n, text));
}

static void add_random_text(const char *name)
{
	char text[WORD_MAX / 2], spec[WORD_MAX];
	uint64_t repeat = 1 + below(4);

	if (strncmp(name, "bind", 4) == 0) {
		for (uint64_t i = 0; i < repeat; i++) {
			(void)snprintf(spec, sizeof(spec), "%.20s:/d%u%s",
				       random_text(text, 20), word_count,
				       below(2) ? "/x y" : "");
			add_word(name, spec);
		}
	} else if (strcmp(name, "env") == 0) {
		for (uint64_t i = 0; i < repeat; i++) {
			(void)snprintf(spec, sizeof(spec), "V%u=%.40s", word_count,
				       random_text(text, 40));
			add_word(name, spec);
		}
		if (below(2))
			add_word(name, "LANG=C");
	} else if (strcmp(name, "lock-code") == 0) {
		add_word(name, below(3) ? "no" : below(2) ? "warm" : "auto");
	} else if (strcmp(name, "on-violation") == 0) {
		add_word(name, below(2) ? "kill" : "refuse");
	} else if (strcmp(name, "learn") == 0 || strcmp(name, "quiet") == 0 ||
		   strcmp(name, "cold") == 0) {
		add_word(name, below(2) ? "yes" : "no");
	} else if (strcmp(name, "allow-syscall") == 0) {
		for (uint64_t i = 0; i < repeat; i++) {
			(void)snprintf(spec, sizeof(spec), "ioctl=0x%x",
				       0x6000 + word_count);
			add_word(name, spec);
		}
	} else if (strcmp(name, "net") == 0) {
		add_word(name, below(2) ? "none" : "loopback");
	} else if (strcmp(name, "net-namespace") == 0) {
		add_word(name, below(2) ? "leased" : "fresh");
	} else if (strcmp(name, "proc") == 0) {
		add_word(name, below(2) ? "none" : "pid");
	} else if (strcmp(name, "allow-host") == 0) {
		add_word(name, below(2) ? "a.example:443" : "*.b.example:1,[::1]:2");
	} else if (strcmp(name, "secret-header") == 0) {
		add_word(name, below(2) ? "a.example:X=/f" : "b.example:Y-Z=/ g#");
	} else if (strcmp(name, "wall") == 0) {
		add_word(name, below(2) ? "kernel" : "vm");
	} else if (strcmp(name, "capture") == 0) {
		add_word(name, below(2) ? "both" : "stderr");
	} else if (strcmp(name, "oom-group") == 0 || strcmp(name, "out-hidden") == 0) {
		add_word(name, below(2) ? "no" : "yes");
	} else if (strcmp(name, "cpuset") == 0) {
		add_word(name, below(2) ? "0" : "2-4,7");
	} else if (strcmp(name, "io-max") == 0) {
		(void)snprintf(spec, sizeof(spec), "/d%u wbps=%" PRIu64 "K riops=7",
			       word_count, 1 + below(1000));
		add_word(name, spec);
	} else if (strcmp(name, "allow-missing") == 0) {
		add_word(name, "cgroup");
	} else if (strcmp(name, "require") == 0) {
		add_word(name, "landlock");
	} else if (strcmp(name, "verify-rootfs") == 0 || strcmp(name, "aslr") == 0 ||
		   strcmp(name, "deterministic") == 0) {
		add_word(name, below(2) ? "no" : "yes");
	} else if (strcmp(name, "clock-start") == 0) {
		add_word(name, below(2) ? "1999-12-31T23:59:59Z" : "86400");
	} else if (strcmp(name, "preload") == 0) {
		add_word(name, below(2) ? "json" : "numpy,xml.dom");
	} else if (strcmp(name, "hold") == 0) {
		add_word(name, below(2) ? "3,4" : "70000,3");
	} else if (strcmp(name, "hostname") == 0) {
		add_word(name, below(2) ? "h" : "a.b-c.9");
	} else if (strcmp(name, "chdir") == 0) {
		add_word(name, below(2) ? "/" : "/work/a b/#c");
	} else {
		add_word(name, random_text(text, 40));
	}
}

START_TEST(random_plans_read_back)
{
	unsigned int tried = 0;

	seed += (uint64_t)_i * 7919 + 1;
	for (int round = 0; round < 20; round++) {
		struct err e;

		word_count = 0;
		words[0] = NULL;
		for (int i = 0; i < 2; i++)
			for (size_t k = below(2); k < option_row_count;
			     k += 1 + below(3)) {
				const struct option_row *row = &option_rows[k];

				if (i && !row->repeatable)
					continue;
				/* repeatable, but not with the same value */
				if (i && (strcmp(row->name, "allow-missing") == 0 ||
					  strcmp(row->name, "require") == 0))
					continue;
				if (i && strcmp(row->name, "env") == 0)
					continue;
				/* of use with what stands before it in the table */
				if (strcmp(row->name, "seed") == 0 &&
				    (!word_count || strcmp(words[word_count - 1],
							   "--deterministic=yes") != 0))
					continue;
				if (row->is_limit)
					add_random_limit(row);
				else
					add_random_text(row->name);
			}
		/* some contradict themselves, and are none */
		if (option_parse(&first, words, &e) < 0) {
			ck_assert_msg(
				strncmp(e.text, "--cpu-time ", 11) == 0 ||
					strncmp(e.text, "--out: ", 7) == 0 ||
					strncmp(e.text, "--secret-header ", 16) == 0 ||
					strncmp(e.text, "--deterministic: ", 17) == 0,
				"%s", e.text);
			continue;
		}
		tried++;
		ck_round_trip();
	}
	ck_assert_uint_gt(tried, 5);
}
END_TEST

START_TEST(every_option_is_printed)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out;

	add_word("bind", "/a:/b");
	add_word("bind-rw", "/c:/d");
	add_word("report", "3");
	add_word("hold", "4,5");
	add_word("out", "o");
	add_word("capture", "both");
	add_word("cpuset", "0");
	add_word("preload", "json");
	add_word("clock-start", "2024-02-29");
	add_word("io-max", "/ rbps=1");
	add_word("allow-missing", "cgroup");
	add_word("allow-syscall", "sync");
	add_word("require", "landlock");
	add_word("allow-host", "a.b:443");
	add_word("secret-header", "a.b:X=f");
	ck_assert_int_eq(option_parse(&first, words, &(struct err){ 0 }), 0);
	out = open_memstream(&text, &size);
	option_print_policy(&first, out);
	ck_assert_int_eq(fclose(out), 0);
	for (size_t i = 0; i < option_row_count; i++) {
		char want[64];

		(void)snprintf(want, sizeof(want), "\n%s ", option_rows[i].name);
		ck_assert_msg(strncmp(text, want + 1, strlen(want) - 1) == 0 ||
				      strstr(text, want) != NULL,
			      "%s is not printed", option_rows[i].name);
	}
	free(text);
}
END_TEST

START_TEST(explain_refuses_a_program)
{
	struct err e = { 0 };

	ck_assert_int_eq(command_explain((char *[]){ "/bin/x", NULL }, &e), -EINVAL);
	ck_assert_ptr_nonnull(strstr(e.text, "/bin/x"));
	ck_assert_int_eq(command_explain((char *[]){ "--net", "host", NULL }, &e),
			 -EINVAL);
	ck_assert_int_eq(strncmp(e.text, "--net: ", 7), 0);
}
END_TEST

Suite *jail_explain_suite(void)
{
	Suite *s = suite_create("jail explain");
	TCase *c = tcase_create("explain");

	tcase_add_checked_fixture(c, start_words, NULL);
	tcase_add_test(c, defaults_read_back);
	tcase_add_test(c, the_order_of_binds_is_kept);
	tcase_add_test(c, odd_values_read_back);
	tcase_add_loop_test(c, random_plans_read_back, 0, 10);
	tcase_add_test(c, every_option_is_printed);
	tcase_add_test(c, explain_refuses_a_program);
	suite_add_tcase(s, c);
	return s;
}
