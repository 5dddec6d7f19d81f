/* SPDX-License-Identifier: MIT */
/*
 * test_agent_clip.c - clipped streams, and times and counts as people write them
 */
#include <check.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/clip.h"
#include "agent/base/escape.h"
#include "agent/base/text.h"
#include "agent/base/units.h"
#include "agent/base/utf8.h"
#include "tests/unit/suites.h"

START_TEST(clip_keeps_all_of_little)
{
	struct clip *c = calloc(1, sizeof(*c));
	struct text head = { 0 }, tail = { 0 };

	for (int i = 0; i < CLIP_HEAD_BYTES + CLIP_TAIL_BYTES; i++)
		clip_add(c, i % 2 ? "b" : "a", 1);
	ck_assert_uint_eq(clip_take(c, &head, &tail), 0);
	ck_assert_uint_eq(head.length, CLIP_HEAD_BYTES + CLIP_TAIL_BYTES);
	for (size_t i = 0; i < head.length; i++)
		ck_assert_int_eq(head.bytes[i], i % 2 ? 'b' : 'a');
	ck_assert_uint_eq(tail.length, 0);
	text_free(&head);
	text_free(&tail);
	free(c);
}
END_TEST

/* pieces of _i bytes: the ring must not care how a stream is cut up */
START_TEST(clip_counts_the_middle)
{
	struct clip *c = calloc(1, sizeof(*c));
	struct text head = { 0 }, tail = { 0 };
	char *all = malloc(100000);
	size_t piece = (size_t)_i;

	for (size_t i = 0; i < 100000; i++)
		all[i] = (char)('a' + i * 7 % 26);
	for (size_t at = 0; at < 100000; at += piece)
		clip_add(c, all + at, 100000 - at < piece ? 100000 - at : piece);
	ck_assert_uint_eq(clip_take(c, &head, &tail),
			  100000 - CLIP_HEAD_BYTES - CLIP_TAIL_BYTES);
	ck_assert_mem_eq(head.bytes, all, CLIP_HEAD_BYTES);
	ck_assert_uint_eq(tail.length, CLIP_TAIL_BYTES);
	ck_assert_mem_eq(tail.bytes, all + 100000 - CLIP_TAIL_BYTES, CLIP_TAIL_BYTES);
	text_free(&head);
	text_free(&tail);
	free(all);
	free(c);
}
END_TEST

START_TEST(clip_cuts_between_characters)
{
	struct clip *c = calloc(1, sizeof(*c));
	struct text head = { 0 }, tail = { 0 };

	clip_add(c, "a", (size_t)_i);
	for (int i = 0; i < 20000; i++)
		clip_add(c, "\xe2\x82\xac", 3);

	uint64_t cut = clip_take(c, &head, &tail);

	ck_assert(utf8_valid(head.bytes, head.length));
	ck_assert(utf8_valid(tail.bytes, tail.length));
	ck_assert_uint_eq(cut + head.length + tail.length, c->total);
	text_free(&head);
	text_free(&tail);
	free(c);
}
END_TEST

static const struct {
	const char *stream, *line;
} last_lines[] = {
	{ "", "" },
	{ "\n \r\n", "" },
	{ "one", "one" },
	{ "one\ntwo\n\n", "two" },
	{ "one\n two \r\n", " two" },
	{ "one\n\x1b[2Jtwo\n", "\\x1b[2Jtwo" },
};

START_TEST(clip_knows_its_last_line)
{
	struct clip c;
	cleanup_text struct text line = { 0 };

	clip_clear(&c);
	clip_add(&c, last_lines[_i].stream, strlen(last_lines[_i].stream));
	clip_last_line(&c, &line);
	ck_assert_str_eq(text_string(&line), last_lines[_i].line);

	/* the middle of it is not kept: its last line is in the tail */
	for (int i = 0; i < 2000; i++)
		clip_add(&c, "more lines\n", 11);
	text_clear(&line);
	clip_last_line(&c, &line);
	ck_assert_str_eq(text_string(&line), "more lines");
}
END_TEST

/* faulthandler's list of modules, whole and with a gap in it */
static const struct {
	size_t before, names, behind;
	const char *shown;
} lists[] = {
	{ 0, 253, 0, "| \n| Extension modules: ... (total: 253)\n" },
	{ 20, 253, 1, "| \n| Extension modules: ... (total: 253)\n| x\n" },
	{ 3000, 2000, 0, "| Extension modules: ...\n[" },
	{ 7000, 400, 0, "| ... (total: 400)\n" },
};

START_TEST(lists_of_modules_are_short)
{
	cleanup_text struct text out = { 0 };
	struct clip c;

	clip_clear(&c);
	for (size_t i = 0; i < lists[_i].before; i++)
		clip_add(&c, "\n", 1);
	clip_add(&c, "\nExtension modules: ", 20);
	for (size_t i = 0; i < lists[_i].names; i++)
		clip_add(&c, "a.module.of.numpys, ", 20);
	clip_add(&c, lists[_i].names == 400 ? "b (total: 400)\n" : "b (total: 253)\n",
		 15);
	for (size_t i = 0; i < lists[_i].behind; i++)
		clip_add(&c, "x\n", 2);
	clip_show(&c, "| ", &out);
	ck_assert_ptr_nonnull(strstr(text_string(&out), lists[_i].shown));
	ck_assert_ptr_null(strstr(text_string(&out), "numpys"));
}
END_TEST

START_TEST(other_lists_stay)
{
	static const char *const texts[] = { "\nExtension modules: a\nb (total: 2)\n",
					     "Extension modules: numpy (total: 1)\n",
					     "\nExtension modules: a", "" };
	cleanup_text struct text out = { 0 };
	cleanup_text struct text want = { 0 };
	struct clip c;

	clip_clear(&c);
	clip_add(&c, texts[_i], strlen(texts[_i]));
	clip_show(&c, "| ", &out);
	escape_lines(&want, "| ", texts[_i], strlen(texts[_i]));
	ck_assert_str_eq(text_string(&out), text_string(&want));
}
END_TEST

START_TEST(clip_says_what_is_missing)
{
	struct clip *c = calloc(1, sizeof(*c));
	struct text out = { 0 };

	for (int i = 0; i < 20000; i++)
		clip_add(c, "[9 bytes are not shown here]\n", 29);
	clip_show(c, "| ", &out);
	/* the jail's own imitation is marked, the agent's line is not */
	ck_assert_ptr_nonnull(strstr(out.bytes, "\n[567"));
	ck_assert_ptr_null(strstr(out.bytes, "\n[9 bytes"));
	text_free(&out);
	free(c);
}
END_TEST

static const struct {
	const char *text;
	int r;
	uint64_t ms;
} times[] = {
	{ "500ms", 0, 500 },
	{ "60s", 0, 60000 },
	{ "10m", 0, 600000 },
	{ "2h", 0, 7200000 },
	{ "0s", 0, 0 },
	{ "3", 0, 3000 },
	{ "1.5s", 0, 1500 },
	{ "0.25m", 0, 15000 },
	{ "1.0ms", 0, 1 },
	{ "0.0625h", 0, 225000 },
	{ "1.0005s", -EINVAL, 0 },
	{ "0.5ms", -EINVAL, 0 },
	{ "1.s", -EINVAL, 0 },
	{ ".5s", -EINVAL, 0 },
	{ "", -EINVAL, 0 },
	{ "-3s", -EINVAL, 0 },
	{ "+3s", -EINVAL, 0 },
	{ " 3s", -EINVAL, 0 },
	{ "3 s", -EINVAL, 0 },
	{ "3S", -EINVAL, 0 },
	{ "0x10s", -EINVAL, 0 },
	{ "3s3s", -EINVAL, 0 },
	{ "3d", 0, 259200000 },
	{ "3w", -EINVAL, 0 },
	{ "99999999999999999999s", -ERANGE, 0 },
	{ "18446744073709551615h", -ERANGE, 0 },
};

START_TEST(units_parse_times)
{
	uint64_t ms = 0;

	ck_assert_msg(units_parse_time(times[_i].text, &ms) == times[_i].r, "'%s'",
		      times[_i].text);
	if (times[_i].r == 0)
		ck_assert_uint_eq(ms, times[_i].ms);
}
END_TEST

START_TEST(units_parse_counts)
{
	uint64_t n;

	ck_assert_int_eq(units_parse_count("18446744073709551615", &n), 0);
	ck_assert(n == UINT64_MAX);
	ck_assert_int_eq(units_parse_count("18446744073709551616", &n), -ERANGE);
	ck_assert_int_eq(units_parse_count("", &n), -EINVAL);
	ck_assert_int_eq(units_parse_count("1 ", &n), -EINVAL);
	ck_assert_int_eq(units_parse_count("-1", &n), -EINVAL);
	ck_assert_int_eq(units_parse_count("1e3", &n), -EINVAL);
}
END_TEST

START_TEST(units_say_times)
{

	ck_assert_str_eq(units_say_time(250).text, "250 ms");
	ck_assert_str_eq(units_say_time(1250).text, "1.2 s");
	ck_assert_str_eq(units_say_time(60000).text, "60 s");
	ck_assert_str_eq(units_say_time(600000).text, "10 min");
	ck_assert_str_eq(units_say_time(12345).text, "12 s");
}
END_TEST

#define ROWS(table) ((int)(sizeof(table) / sizeof(table[0])))

Suite *agent_clip_suite(void)
{
	Suite *s = suite_create("agent clip");
	TCase *c = tcase_create("clip");

	tcase_add_test(c, clip_keeps_all_of_little);
	tcase_add_loop_test(c, clip_counts_the_middle, 1, 3);
	tcase_add_loop_test(c, clip_counts_the_middle, 6143, 6146);
	tcase_add_loop_test(c, clip_counts_the_middle, 99999, 100001);
	tcase_add_loop_test(c, clip_cuts_between_characters, 0, 2);
	tcase_add_test(c, clip_says_what_is_missing);
	tcase_add_loop_test(c, lists_of_modules_are_short, 0, 4);
	tcase_add_loop_test(c, other_lists_stay, 0, 4);
	tcase_add_loop_test(c, clip_knows_its_last_line, 0,
			    sizeof(last_lines) / sizeof(last_lines[0]));
	tcase_add_loop_test(c, units_parse_times, 0, ROWS(times));
	tcase_add_test(c, units_parse_counts);
	tcase_add_test(c, units_say_times);
	suite_add_tcase(s, c);
	return s;
}
