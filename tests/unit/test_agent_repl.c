/* SPDX-License-Identifier: MIT */
/*
 * test_agent_repl.c - pieces of a script, a jail's bytes as they come, exit statuses
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "agent/repl/pieces.h"
#include "agent/repl/repl.h"
#include "tests/unit/suites.h"

#define ROWS(table) ((int)(sizeof(table) / sizeof(table[0])))

static const struct {
	const char *text, *marks;
	const char *pieces; /* each with a "|" behind it */
} splits[] = {
	{ "a\nb\n", "bbb", "a\n|b\n|" },
	{ "a\n b\nc\n", "b.b.", "a\n b\n|c\n|" },
	{ "#\na\n", ".bb", "#\n|a\n|" },
	/* what a jail may answer as well: a byte of any other value is no mark */
	{ "a\nb\n", "...", "a\nb\n|" },
	{ "\n\n\n", "b\xff\x62\x01", "\n\n|\n|" },
	{ "a\n'''\nb\n'''\n", "bbbbb", "a\n|'''\n|b\n|'''\n|" },
};

/* every byte is in one piece, in order */
START_TEST(marks_split_a_text)
{
	const char *text = splits[_i].text, *mark = splits[_i].marks;
	size_t length = strlen(text);
	struct text got = { 0 };

	for (size_t piece; length; text += piece, length -= piece) {
		piece = pieces_next(&mark, text, length);
		ck_assert_uint_ge(piece, 1);
		ck_assert_uint_le(piece, length);
		text_add(&got, text, piece);
		text_puts(&got, "|");
	}
	ck_assert_str_eq(text_string(&got), splits[_i].pieces);
	ck_assert_ptr_eq(mark, splits[_i].marks + strlen(splits[_i].marks) - 1);
	text_free(&got);
}
END_TEST

static const struct {
	const char *bytes;
	size_t length;
	const char *shown;
} streams[] = {
	{ "a\tb\n", 4, "a\tb\n" },
	{ "a\r\nb\rc\n", 7, "a\nb\\rc\n" },
	{ "\x1b[2J\x07", 5, "\\x1b[2J\\x07" },
	{ "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", 9,
	  "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80" },
	{ "\xff\xc3(\xe2\x82", 5, "\\xff\\xc3(\\xe2\\x82" },
	{ "\xe2\x80\xae\xc2\x9b", 5, "\\u202e\\x9b" },
	{ "a\0b", 3, "a\\x00b" },
	{ "end\r", 4, "end\\r" },
	{ "\x80\x80\x80\x80\n", 5, "\\x80\\x80\\x80\\x80\n" },
};

/* in pieces of every size: what is shown does not depend on where a frame ends */
START_TEST(stream_is_harmless_in_any_pieces)
{
	for (size_t piece = 1; piece <= streams[_i].length; piece++) {
		struct stream s = { 0 };
		struct text out = { 0 };

		for (size_t at = 0; at < streams[_i].length; at += piece) {
			size_t left = streams[_i].length - at;

			stream_add(&s, streams[_i].bytes + at,
				   left < piece ? left : piece, &out);
		}
		stream_end(&s, &out);
		ck_assert_str_eq(text_string(&out), streams[_i].shown);
		ck_assert(s.mid_line == (out.bytes[out.length - 1] != '\n'));
		text_free(&out);
	}
}
END_TEST

static const struct {
	struct verdict_facts f;
	int status;
} statuses[] = {
	{ { .verdict = VERDICT_COMPLETED }, 0 },
	{ { .verdict = VERDICT_EXCEPTION }, 1 },
	{ { .verdict = VERDICT_EXITED, .code = 7 }, 7 },
	{ { .verdict = VERDICT_EXITED }, 0 },
	{ { .verdict = VERDICT_SIGNALED, .signal = 11 }, 139 },
	{ { .verdict = VERDICT_WALL_TIMEOUT, .signal = 9 }, 124 },
	{ { .verdict = VERDICT_MEMORY, .signal = 9 }, 137 },
	{ { .verdict = VERDICT_PIDS }, 1 },
	{ { .verdict = VERDICT_LAUNCHER_ERROR }, 125 },
};

START_TEST(status_is_as_of_a_run)
{
	ck_assert_int_eq(repl_status(&statuses[_i].f), statuses[_i].status);
}
END_TEST

Suite *agent_repl_suite(void)
{
	Suite *s = suite_create("agent repl");
	TCase *c = tcase_create("repl");

	tcase_add_loop_test(c, marks_split_a_text, 0, ROWS(splits));
	tcase_add_loop_test(c, stream_is_harmless_in_any_pieces, 0, ROWS(streams));
	tcase_add_loop_test(c, status_is_as_of_a_run, 0, ROWS(statuses));
	suite_add_tcase(s, c);
	return s;
}
