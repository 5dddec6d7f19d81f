/* SPDX-License-Identifier: MIT */
/*
 * test_jail_json.c - strings of a report are valid JSON, whatever their bytes
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "jail/base/json.h"
#include "tests/unit/suites.h"

#define TEXT_MAX 4096

static void write_string(const char *text, char *out, size_t size)
{
	FILE *stream = fmemopen(out, size, "w");

	ck_assert_ptr_nonnull(stream);
	json_after("", text, stream);
	ck_assert_int_eq(fclose(stream), 0);
}

static unsigned int hex4(const char *at)
{
	unsigned int n = 0;

	for (int i = 0; i < 4; i++) {
		HOLDS(isxdigit((unsigned char)at[i]) && !isupper((unsigned char)at[i]));
		n = n * 16 +
		    (unsigned int)(at[i] <= '9' ? at[i] - '0' : at[i] - 'a' + 10);
	}
	return n;
}

static char *put_utf8(char *out, unsigned int p)
{
	if (p >= 0x10000) {
		*out++ = (char)(0xf0 | p >> 18);
		*out++ = (char)(0x80 | (p >> 12 & 0x3f));
	} else if (p >= 0x800) {
		*out++ = (char)(0xe0 | p >> 12);
	}
	if (p >= 0x800)
		*out++ = (char)(0x80 | (p >> 6 & 0x3f));
	else if (p >= 0x80)
		*out++ = (char)(0xc0 | p >> 6);
	*out++ = (char)(p >= 0x80 ? 0x80 | (p & 0x3f) : p);
	return out;
}

/* the string grammar of RFC 8259, and nothing but printable ASCII */
static void read_strict(const char *at, char *out)
{
	HOLDS(*at++ == '"');
	while (*at != '"') {
		unsigned int p = (unsigned char)*at++;

		HOLDS(p >= ' ' && p < 0x7f);
		if (p != '\\') {
			*out++ = (char)p;
			continue;
		}
		if (*at != 'u') {
			HOLDS(*at && strchr("\"\\/bfnrt", *at));
			*out++ = *at++; /* only the first three stand for themselves */
			continue;
		}
		p = hex4(at + 1);
		at += 5;
		HOLDS(p < 0xdc00 || p > 0xdfff);
		if (p >= 0xd800 && p <= 0xdbff) {
			HOLDS(at[0] == '\\' && at[1] == 'u');

			unsigned int low = hex4(at + 2);

			HOLDS(low >= 0xdc00 && low <= 0xdfff);
			p = 0x10000 + ((p - 0xd800) << 10) + (low - 0xdc00);
			at += 6;
		}
		HOLDS(p != 0);
		out = put_utf8(out, p);
	}
	HOLDS(at[1] == '\0');
	*out = '\0';
}

static void ck_written(const char *text, const char *want)
{
	char got[TEXT_MAX];

	write_string(text, got, sizeof(got));
	ck_assert_str_eq(got, want);
}

START_TEST(known_strings)
{
	ck_written(NULL, "null");
	ck_written("", "\"\"");
	ck_written("plain / text's", "\"plain / text's\"");
	ck_written("\"\\", "\"\\\"\\\\\"");
	ck_written("\n\t\r\b\f\x01\x1f",
		   "\"\\u000a\\u0009\\u000d\\u0008\\u000c\\u0001\\u001f\"");
	ck_written("\x1b[31m", "\"\\u001b[31m\"");
	ck_written("\x7f", "\"\\u007f\"");
	ck_written("\xc2\x80", "\"\\u0080\"");
	ck_written("\xc3\xa9", "\"\\u00e9\"");
	ck_written("\xe2\x82\xac", "\"\\u20ac\"");
	ck_written("\xf0\x9f\x90\xa7", "\"\\ud83d\\udc27\"");
	ck_written("\xf4\x8f\xbf\xbf", "\"\\udbff\\udfff\"");
	ck_written("\xf0\x90\x80\x80", "\"\\ud800\\udc00\"");
}
END_TEST

#define BAD "\\ufffd"

START_TEST(bytes_that_are_no_utf8)
{
	static const struct {
		const char *bytes, *want;
	} rows[] = {
		{ "\x80", BAD },
		{ "\xbf\xbf", BAD BAD },
		{ "\xff\xfe", BAD BAD },
		{ "\xc3", BAD },
		{ "\xc3(", BAD "(" },
		{ "\xe2\x82", BAD BAD },
		{ "\xe2\x82x", BAD BAD "x" },
		{ "\xf0\x9f\x90", BAD BAD BAD },
		{ "\xc0\x80", BAD BAD },                 /* overlong NUL */
		{ "\xc1\xbf", BAD BAD },                 /* overlong */
		{ "\xe0\x80\xaf", BAD BAD BAD },         /* overlong */
		{ "\xe0\x9f\xbf", BAD BAD BAD },         /* overlong */
		{ "\xf0\x8f\xbf\xbf", BAD BAD BAD BAD }, /* overlong */
		{ "\xed\xa0\x80", BAD BAD BAD },         /* surrogate D800 */
		{ "\xed\xbf\xbf", BAD BAD BAD },         /* surrogate DFFF */
		{ "\xf4\x90\x80\x80", BAD BAD BAD BAD }, /* above 10FFFF */
		{ "\xf8\x88\x80\x80\x80", BAD BAD BAD BAD BAD },
		{ "a\xff\xc3\xa9z", "a" BAD "\\u00e9z" },
		{ "\xed\x9f\xbf\xee\x80\x80", "\\ud7ff\\ue000" }, /* around them: good */
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		char want[128];

		(void)snprintf(want, sizeof(want), "\"%s\"", rows[i].want);
		ck_written(rows[i].bytes, want);
	}
}
END_TEST

/* what lies behind the end is never looked at, and NUL is a byte like any other */
START_TEST(bytes_have_a_length)
{
	static const struct {
		const char *bytes;
		size_t length;
		const char *want;
	} rows[] = {
		{ "", 0, "" },
		{ "abc", 2, "ab" },
		{ "a\0b\0", 4, "a\\u0000b\\u0000" },
		{ "\xc3\xa9", 1, BAD },
		{ "\xe2\x82\xac", 2, BAD BAD },
		{ "\xf0\x9f\x90\xa7", 3, BAD BAD BAD },
		{ "\xc3\0", 2, BAD "\\u0000" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		char got[128], want[128];
		FILE *stream = fmemopen(got, sizeof(got), "w");

		ck_assert_ptr_nonnull(stream);
		json_bytes(stream, rows[i].bytes, rows[i].length);
		ck_assert_int_eq(fclose(stream), 0);
		(void)snprintf(want, sizeof(want), "\"%s\"", rows[i].want);
		ck_assert_str_eq(got, want);
	}
}
END_TEST

/* every code point goes out and comes back */
START_TEST(every_code_point_comes_back)
{
	char text[8], got[64], back[64];

	for (unsigned int p = 1; p <= 0x10ffff; p += p < 0x3000 ? 1 : 31) {
		if (p >= 0xd800 && p <= 0xdfff)
			continue;
		*put_utf8(text, p) = '\0';
		write_string(text, got, sizeof(got));
		read_strict(got, back);
		if (strcmp(back, text) != 0)
			ck_abort_msg("U+%04X is written as %s", p, got);
	}
}
END_TEST

START_TEST(random_bytes_are_valid_json)
{
	uint64_t state = 9;

	for (int round = 0; round < 3000; round++) {
		char text[64], got[TEXT_MAX], back[TEXT_MAX];
		size_t n = unit_random(&state) % (sizeof(text) - 1);

		for (size_t i = 0; i < n; i++) {
			uint64_t byte = unit_random(&state);

			/* leads and continuations more often than by chance */
			text[i] = (char)(byte & 0x100 ? byte | 0x80 : byte);
			if (text[i] == '\0')
				text[i] = '"';
		}
		text[n] = '\0';
		write_string(text, got, sizeof(got));
		read_strict(got, back);

		cJSON *other = cJSON_ParseWithOpts(got, NULL, 1);

		HOLDS(cJSON_IsString(other) && strcmp(other->valuestring, back) == 0);
		cJSON_Delete(other);
	}
}
END_TEST

Suite *jail_json_suite(void)
{
	Suite *s = suite_create("jail json");
	TCase *c = tcase_create("json");

	tcase_add_test(c, known_strings);
	tcase_add_test(c, bytes_that_are_no_utf8);
	tcase_add_test(c, bytes_have_a_length);
	tcase_add_test(c, every_code_point_comes_back);
	tcase_add_test(c, random_bytes_are_valid_json);
	suite_add_tcase(s, c);
	return s;
}
