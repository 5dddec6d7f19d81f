/* SPDX-License-Identifier: MIT */
/*
 * test_agent_live.c - words as they come: rows, bounds, and pieces cut anywhere
 */
#include <check.h>
#include <string.h>

#include "agent/base/escape.h"
#include "agent/base/utf8.h"
#include "agent/show/live.h"
#include "tests/unit/suites.h"

#define MARK ": "
#define COLUMNS 20

/* in pieces of @piece bytes, laid out */
static void lay_out(const char *words, size_t length, size_t piece, struct text *out)
{
	struct live l = { .mark = MARK, .prose = true, .bounded = true };

	for (size_t at = 0; at < length; at += piece)
		live_add(&l, words + at, length - at < piece ? length - at : piece,
			 COLUMNS, out);
	(void)live_end(&l, COLUMNS, out);
	ck_assert_uint_eq(l.column + l.bytes + l.rows + l.full, 0);
}

/* every row has its mark and its width, and nothing in it moves a cursor */
static void check_rows(const struct text *out)
{
	const char *at = text_string(out);

	ck_assert(utf8_valid(at, out->length));
	while (*at) {
		size_t row = strcspn(at, "\n");
		size_t column = 0;

		ck_assert_msg(strncmp(at, MARK, strlen(MARK)) == 0, "%s", at);
		ck_assert_int_eq(at[row], '\n');
		for (size_t i = 0; i < row;) {
			uint32_t point = 0;
			size_t n = utf8_decode((const unsigned char *)at + i, row - i,
					       &point);

			ck_assert(!escape_hides(point));
			column += escape_cells(point, column);
			i += n;
		}
		ck_assert_uint_le(column, COLUMNS);
		at += row + 1;
	}
}

static const struct {
	const char *words;
	const char *rows;
} shown[] = {
	{ "", "" },
	{ "a", ": a\n" },
	{ "a\n", ": a\n" },
	{ "a\n\nb", ": a\n: \n: b\n" },
	{ "a\r\nb\rc", ": a\n: b\\rc\n" },
	{ "12345678901234567890", ": 12345678901234567\n: 890\n" },
	{ "\x1b[2J\xc3\xa9\xc3", ": \\x1b[2J\xc3\xa9\\xc3\n" },
	{ "\xf0\x9f\x90\xa7\xe2\x80\xae", ": \xf0\x9f\x90\xa7\\u202e\n" },
	{ "\xf0\x9f\x90", ": \\xf0\\x9f\\x90\n" },
	{ "\xff\x00\x80", ": \\xff\n" },
	{ "words are not broken", ": words are not \n: broken\n" },
	{ "a\tb words  are\n whole", ": a\tb words \n:  are\n:  whole\n" },
	{ "so 12345678901234567890 is", ": so 12345678901234\n: 567890 is\n" },
};

START_TEST(pieces_make_no_difference)
{
	const char *words = shown[_i].words;

	for (size_t piece = 1; piece < 5; piece++) {
		cleanup_text struct text out = { 0 };

		lay_out(words, strlen(words), piece, &out);
		ck_assert_str_eq(text_string(&out), shown[_i].rows);
		check_rows(&out);
	}
}
END_TEST

/* each byte there is, each pair of two: none gets through that a terminal would obey */
START_TEST(no_byte_gets_through)
{
	for (int first = 0; first < 256; first++) {
		cleanup_text struct text out = { 0 };
		char words[3 * 256];
		size_t length = 0;

		for (int second = 0; second < 256; second++) {
			words[length++] = (char)first;
			words[length++] = (char)second;
			words[length++] = 'x';
		}
		lay_out(words, length, 1 + (size_t)first % 7, &out);
		check_rows(&out);
	}
}
END_TEST

START_TEST(bounds_hold)
{
	struct live l = { .mark = MARK, .prose = true, .bounded = true };
	cleanup_text struct text out = { 0 };

	for (size_t i = 0; i < LIVE_BYTES_MAX + 10; i++)
		live_add(&l, "x", 1, 1000, &out);
	ck_assert(l.full);
	ck_assert_uint_ge(out.length, LIVE_BYTES_MAX);
	ck_assert_uint_le(out.length, LIVE_BYTES_MAX + LIVE_BYTES_MAX / 100);
	ck_assert(!live_end(&l, 1000, &out));
	text_clear(&out);
	for (size_t i = 0; i < LIVE_ROWS_MAX + 10; i++)
		live_add(&l, "\n", 1, 1000, &out);
	ck_assert(l.full);
	ck_assert_uint_eq(out.length, LIVE_ROWS_MAX * strlen(MARK "\n"));
	ck_assert(!live_end(&l, 1000, &out));
	ck_assert(live_end(&l, 1000, &out));
	/* a terminal without a width */
	text_clear(&out);
	live_add(&l, "123456789", 9, 1, &out);
	live_row_end(&l, &out);
	ck_assert_str_eq(text_string(&out), ": 1234567\n: 89\n");
}
END_TEST

static const struct {
	const char *text, *shown;
	size_t columns;
} folds[] = {
	{ "| short\n", "| short\n", 20 },
	{ "| 0123456789012345\n", "| 0123456789012345\n", 20 },
	{ "| 01234567890123456789abc\n", "| 0123456789012345\n| 6789abc\n", 20 },
	{ "| one two three four five\n", "| one two three \n| four five\n", 20 },
	{ "| \t\t\tx\n", "| \t\t\n| \tx\n", 20 },
	/* two cells each, though a terminal may show it in one */
	{ "| \xe4\xbd\xa0\xe4\xbd\xa0\xe4\xbd\xa0\xe4\xbd\xa0\xe4\xbd\xa0\n",
	  "| \xe4\xbd\xa0\xe4\xbd\xa0\xe4\xbd\xa0\n| \xe4\xbd\xa0\xe4\xbd\xa0\n", 10 },
	/* a selector is not torn from what it selects */
	{ "| 1234567\xe2\x9d\xa4\xef\xb8\x8f\xe2\x9d\xa4\xef\xb8\x8f\n",
	  "| 1234567\xe2\x9d\xa4\xef\xb8\x8f\n| \xe2\x9d\xa4\xef\xb8\x8f\n", 13 },
	{ "| a\n\n| 01234567890123456789\nno end",
	  "| a\n\n| 0123456789012345\n| 6789\nno end", 20 },
	{ "| 0123456789\n", "| 012345\n| 6789\n", 1 }, /* never narrower than that */
	{ "", "", 20 },
};

START_TEST(lines_fold)
{
	struct text t = { 0 };

	live_fold("| ", folds[_i].text, strlen(folds[_i].text), folds[_i].columns, &t);
	ck_assert_str_eq(text_string(&t), folds[_i].shown);
	text_free(&t);
}
END_TEST

Suite *agent_live_suite(void)
{
	Suite *s = suite_create("agent live");
	TCase *c = tcase_create("live");

	tcase_add_loop_test(c, pieces_make_no_difference, 0,
			    (int)(sizeof(shown) / sizeof(shown[0])));
	tcase_add_test(c, no_byte_gets_through);
	tcase_add_test(c, bounds_hold);
	tcase_add_loop_test(c, lines_fold, 0, (int)(sizeof(folds) / sizeof(folds[0])));
	suite_add_tcase(s, c);
	return s;
}
