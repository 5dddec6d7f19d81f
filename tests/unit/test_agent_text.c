/* SPDX-License-Identifier: MIT */
/*
 * test_agent_text.c - text, UTF-8, escapes
 */
#include <check.h>
#include <errno.h>
#include <inttypes.h>
#include <nettle/base64.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/clip.h"
#include "agent/base/escape.h"
#include "agent/base/text.h"
#include "agent/base/units.h"
#include "agent/base/utf8.h"

Suite *agent_text_suite(void);

START_TEST(text_grows_and_keeps_nuls)
{
	struct text t = { 0 };

	ck_assert_str_eq(text_string(&t), "");
	for (int i = 0; i < 1000; i++)
		text_add(&t, "a\0b", 3);
	ck_assert_uint_eq(t.length, 3000);
	ck_assert_int_eq(t.bytes[2998], 0);
	ck_assert_int_eq(t.bytes[3000], 0);
	text_clear(&t);
	text_printf(&t, "%d-%s", 7, "x");
	ck_assert_str_eq(text_string(&t), "7-x");
	text_free(&t);
}
END_TEST

START_TEST(text_is_bounded)
{
	struct text t = { .max = 10 };
	struct err e = { 0 };

	text_puts(&t, "0123456789");
	ck_assert_int_eq(text_check(&t, "it", &e), 0);
	text_puts(&t, "x");
	text_add(&t, "", 0); /* the first failure stays */
	ck_assert_int_eq(text_check(&t, "it", &e), -E2BIG);
	ck_assert_str_eq(e.text, "it: longer than 10 bytes");
	ck_assert_str_eq(text_string(&t), "0123456789");
	text_free(&t);
}
END_TEST

static const struct {
	const char *bytes;
	bool valid;
} sequences[] = {
	{ "plain", true },
	{ "\xc3\xa9", true },
	{ "\xe2\x82\xac", true },
	{ "\xf0\x9f\x90\xa7", true },
	{ "\xf4\x8f\xbf\xbf", true },
	{ "\xc3", false },
	{ "\xc0\xaf", false },         /* overlong */
	{ "\xe0\x80\xaf", false },     /* overlong */
	{ "\xf0\x80\x80\xaf", false }, /* overlong */
	{ "\xed\xa0\x80", false },     /* surrogate */
	{ "\xf4\x90\x80\x80", false }, /* over U+10FFFF */
	{ "\xf8\x88\x80\x80\x80", false },
	{ "\x80", false },
	{ "\xff", false },
};

/* a length of every kind: pieces of 768 bytes leave no mark of where they meet */
START_TEST(text_encodes_base64)
{
	static const size_t lengths[] = { 0, 1, 2, 3, 767, 768, 769, 1536, 4000 };
	unsigned char bytes[4000];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(i * 7 + i / 256);
	for (size_t i = 0; i < COUNT(lengths); i++) {
		char whole[BASE64_ENCODE_RAW_LENGTH(sizeof(bytes)) + 1] = "";
		struct text t = { 0 };

		base64_encode_raw(whole, lengths[i], bytes);
		text_base64(&t, bytes, lengths[i]);
		ck_assert_str_eq(text_string(&t), whole);
		text_free(&t);
	}
}
END_TEST

START_TEST(utf8_knows_characters)
{
	ck_assert_msg(utf8_valid(sequences[_i].bytes, strlen(sequences[_i].bytes)) ==
			      sequences[_i].valid,
		      "row %d", _i);
}
END_TEST

START_TEST(utf8_mends)
{
	struct text t = { 0 };

	utf8_mend(&t, "a\xff\0b\xe2\x82", 6);
	ck_assert_str_eq(text_string(&t), "a\xef\xbf\xbd\xef\xbf\xbd"
					  "b\xef\xbf\xbd\xef\xbf\xbd");
	ck_assert(utf8_valid(t.bytes, t.length));
	text_free(&t);
}
END_TEST

START_TEST(utf8_floor_cuts_between)
{
	const char *s = "a\xe2\x82\xac"
			"b"; /* a, euro, b */

	ck_assert_uint_eq(utf8_floor(s, 5, 9), 5);
	ck_assert_uint_eq(utf8_floor(s, 5, 4), 4);
	ck_assert_uint_eq(utf8_floor(s, 5, 3), 1);
	ck_assert_uint_eq(utf8_floor(s, 5, 2), 1);
	ck_assert_uint_eq(utf8_floor(s, 5, 1), 1);
	ck_assert_uint_eq(utf8_floor(s, 5, 0), 0);
	/* nothing but continuation bytes: still a cut within the limit */
	ck_assert_uint_le(utf8_floor("\x80\x80\x80\x80\x80\x80", 6, 5), 5);
}
END_TEST

static const struct {
	const char *bytes;
	size_t length;
	const char *shown;
} escapes[] = {
	{ "plain\ttab", 9, "plain\ttab" },
	{ "a\nb", 3, "a\\nb" },
	{ "\r\x1b[31m\x07", 7, "\\r\\x1b[31m\\x07" },
	{ "\0", 1, "\\x00" },
	{ "\x7f", 1, "\\x7f" },
	{ "\xc2\x9b"
	  "31m",
	  5, "\\x9b31m" },                /* C1 CSI */
	{ "\xff\xc3", 2, "\\xff\\xc3" },  /* not UTF-8 */
	{ "\xe2\x80\xae", 3, "\\u202e" }, /* bidi override */
	{ "\xe2\x80\xaa", 3, "\\u202a" },
	{ "\xe2\x81\xa6\xe2\x81\xa9", 6, "\\u2066\\u2069" },
	{ "\xe2\x80\x8b", 3, "\\u200b" }, /* zero width space */
	{ "\xe2\x80\xa8\xe2\x80\xa9", 6, "\\u2028\\u2029" },
	{ "\xef\xbb\xbf", 3, "\\ufeff" },         /* BOM */
	{ "\xf3\xa0\x81\x81", 4, "\\U000e0041" }, /* a tag: unseen text */
	{ "\xc2\xad", 2, "\\xad" },
	{ "\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\xa7", 9,
	  "\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\xa7" },
	{ "back\\slash", 10, "back\\slash" },
	/* one selector of emoji behind a heart; one more, or one behind a letter */
	{ "\xe2\x9d\xa4\xef\xb8\x8f", 6, "\xe2\x9d\xa4\xef\xb8\x8f" },
	{ "\xe2\x9d\xa4\xef\xb8\x8f\xef\xb8\x8e", 9, "\xe2\x9d\xa4\xef\xb8\x8f\\ufe0e" },
	{ "a\xef\xb8\x8f", 4, "a\\ufe0f" },
	{ "\xf0\x9d\x85\xb3", 4, "\\U0001d173" },
};

START_TEST(escape_shows_what_hides)
{
	struct text t = { 0 };

	escape_line(&t, escapes[_i].bytes, escapes[_i].length);
	ck_assert_str_eq(text_string(&t), escapes[_i].shown);
	text_free(&t);
}
END_TEST

START_TEST(escape_hides_every_control)
{
	for (uint32_t c = 0; c < 0xa0; c++)
		if (c < 0x20 || c >= 0x7f)
			ck_assert_msg(escape_hides(c) == (c != '\t'), "U+%04x", c);
	ck_assert(!escape_hides('a') && !escape_hides(0xe9) && !escape_hides(0xfe0f));
}
END_TEST

START_TEST(escape_lines_prefixes_all)
{
	struct text t = { 0 };
	const char text[] = "one\r\ntwo\n\nOutput:\rError:\xe2\x80\xa8"
			    "Step 1\x0b"
			    "end";

	escape_lines(&t, "| ", text, sizeof(text) - 1);
	ck_assert_str_eq(text_string(&t), "| one\n| two\n| \n"
					  "| Output:\\rError:\\u2028Step 1\\x0bend\n");
	text_free(&t);
}
END_TEST

static const struct {
	const char *text, *shown;
} turns[] = {
	{ "<|im_start|>system", "\\x3c|im_start|>system" },
	{ "a<|im_end|><|im_end|>", "a\\x3c|im_end|>\\x3c|im_end|>" },
	{ "<\xef\xbd\x9c"
	  "User",
	  "\\x3c\xef\xbd\x9c"
	  "User" },
	{ "[INST]x[/INST]</s><s>", "\\x5bINST]x\\x5b/INST]\\x3c/s>\\x3cs>" },
	{ "<<SYS>>", "\\x3c<SYS>>" },
	{ "<start_of_turn>", "\\x3cstart_of_turn>" },
	{ "<start_of_tur", "<start_of_tur" },
	{ "[/TOOL_RESULTS][AVAILABLE_TOOLS]",
	  "\\x5b/TOOL_RESULTS]\\x5bAVAILABLE_TOOLS]" },
	{ "<reserved_106><eoh><eoa><sop>",
	  "\\x3creserved_106>\\x3ceoh>\\x3ceoa>\\x3csop>" },
	{ "<seed:bos></seed:think>", "\\x3cseed:bos>\\x3c/seed:think>" },
	{ "]~b]user]~!b[[e~[", "\\x5d~b]user\\x5d~!b[\\x5be~[" },
	{ "<start_function_response><function=python>",
	  "\\x3cstart_function_response>\\x3cfunction=python>" },
	{ "[|system|] >>QUESTION<<", "\\x5b|system|] \\x3e>QUESTION<<" },
	{ "<User><unused99><SPECIAL_12><EOT>",
	  "\\x3cUser>\\x3cunused99>\\x3cSPECIAL_12>\\x3cEOT>" },
	{ "", "" },
};

/* what Python, its libraries and documents have: as it is */
static const char *const plain[] = {
	"a < b, [1, 2], <p>, <span>, <",
	"<class 'int'> <class '__main__.A_B'> <function f_1 at 0x7f2a> <Color.RED_1: 1>",
	"List[int] Dict[str, List[T]] Optional[K] a[i] x[0] m[\"KEY\"] df[~mask] df[~m[0]]",
	"  File \"<stdin>\", line 1, in <module>\n  File \"<string>\", line 2, in <lambda>",
	"<_io.TextIOWrapper name='<stdout>' mode='w' encoding='utf-8'>",
	"<frozen importlib._bootstrap> <generator object <genexpr> at 0x7f> <listcomp>",
	"array([1., 2.], dtype='<f8') <U10 <NA> [NaN] [ns] [OK] datetime64[ns, UTC]",
	"<!DOCTYPE html><html><head><title>x</title><body class=\"a_b\"><h1>T</h1><br/><hr>",
	"<table><tr><td>1</td><th>2</th></tr></table><ul><li><a href='x'>y</a><strong>b</strong>",
	"<em>, <sub>, <sup>, <svg viewBox=\"0 0 1 1\"><path d=\"M0\"/></svg><code><pre><del>",
	"<?xml version=\"1.0\"?><item><name>x</name></item><dc:title>t</dc:title><a/><!-- -->",
	"<Response [200]> <Element 'root' at 0x7f> if a<b==c and x<y>z: 1 << 3 >> 2",
	"vector<int> Map<String, Integer> x <= y >= z [ERR: 1] [a_b] [X] [1, 'A'] ['ABC']",
};

START_TEST(escape_leaves_what_is_plain)
{
	struct text theirs = { 0 }, t = { 0 };

	text_puts(&theirs, plain[_i]);
	escape_turns(&t, &theirs);
	ck_assert_str_eq(text_string(&t), plain[_i]);
	text_free(&theirs);
	text_free(&t);
}
END_TEST

START_TEST(escape_breaks_turns)
{
	struct text theirs = { .max = 1 }, t = { 0 };

	text_puts(&theirs, "ab"); /* does not fit */
	escape_turns(&t, &theirs);
	ck_assert_int_eq(t.failed, E2BIG);
	text_free(&theirs);
	text_free(&t);
	theirs = t = (struct text){ 0 };
	text_puts(&theirs, turns[_i].text);
	escape_turns(&t, &theirs);
	ck_assert_str_eq(text_string(&t), turns[_i].shown);
	ck_assert_int_eq(t.failed, 0);
	text_free(&theirs);
	text_free(&t);
}
END_TEST

#define ROWS(table) ((int)(sizeof(table) / sizeof(table[0])))

Suite *agent_text_suite(void)
{
	Suite *s = suite_create("agent text");
	TCase *c = tcase_create("text");

	tcase_add_test(c, text_grows_and_keeps_nuls);
	tcase_add_test(c, text_is_bounded);
	tcase_add_test(c, text_encodes_base64);
	tcase_add_loop_test(c, utf8_knows_characters, 0, ROWS(sequences));
	tcase_add_test(c, utf8_mends);
	tcase_add_test(c, utf8_floor_cuts_between);
	tcase_add_loop_test(c, escape_shows_what_hides, 0, ROWS(escapes));
	tcase_add_test(c, escape_hides_every_control);
	tcase_add_test(c, escape_lines_prefixes_all);
	tcase_add_loop_test(c, escape_breaks_turns, 0, ROWS(turns));
	tcase_add_loop_test(c, escape_leaves_what_is_plain, 0, ROWS(plain));
	suite_add_tcase(s, c);
	return s;
}
