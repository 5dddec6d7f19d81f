/* SPDX-License-Identifier: MIT */
/*
 * test_agent_key.c - keys, and the addresses they may be sent to
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/http.h"
#include "agent/key.h"
#include "tests/unit/suites.h"

/* a file with these bytes; removed when all tests have ended */
static const char *make_file(const char *bytes, size_t length)
{
	return unit_file(unit_folder(), "file", bytes, length);
}

START_TEST(key_comes_from_the_environment_and_leaves_it)
{
	struct key k;
	struct err e = { 0 };

	(void)setenv("OPENAI_API_KEY", "second-key", 1);
	(void)setenv("STEPJAIL_API_KEY", "first-key\n", 1);

	const char *was = getenv("STEPJAIL_API_KEY");

	ck_assert_int_eq(key_load(&k, NULL, &e), 0);
	ck_assert_str_eq(k.bytes, "first-key");
	ck_assert_ptr_null(getenv("STEPJAIL_API_KEY"));
	ck_assert_ptr_null(getenv("OPENAI_API_KEY"));
	ck_assert_int_eq(was[0], 0); /* the bytes are gone too, not the name alone */
	ck_assert_int_eq(key_load(&k, NULL, &e), 0);
	ck_assert_uint_eq(k.length, 0);
}
END_TEST

START_TEST(key_comes_from_a_file)
{
	struct key k;
	struct err e = { 0 };

	(void)setenv("STEPJAIL_API_KEY", "not-this", 1);
	const char *path = make_file("from-file\r\n", 11);

	ck_assert_int_eq(key_load(&k, path, &e), 0);
	ck_assert_str_eq(k.bytes, "from-file");
	(void)unlink(path);
	ck_assert_int_lt(key_load(&k, path, &e), 0);
	ck_assert_int_lt(key_load(&k, make_file("\n", 1), &e), 0);
}
END_TEST

START_TEST(key_with_a_header_in_it_is_refused)
{
	struct key k;
	struct err e = { 0 };

	(void)setenv("STEPJAIL_API_KEY", "secret\r\nX: y", 1);
	ck_assert_int_eq(key_load(&k, NULL, &e), -EINVAL);
	ck_assert_ptr_null(strstr(e.text, "secret"));
	ck_assert_uint_eq(k.length, 0);
}
END_TEST

START_TEST(key_is_redacted)
{
	struct key k = { .length = 8, .bytes = "sk-12345" };
	char text[] = "sk-12345 and sk-1234sk-12345";

	key_redact(&k, text, strlen(text));
	ck_assert_str_eq(text, "******** and sk-1234********");
	key_redact(&k, NULL, 0);
	k = (struct key){ .length = 1, .bytes = "e" };
	key_redact(&k, text, strlen(text));
	ck_assert_ptr_null(strstr(text, "and*"));
}
END_TEST

static const struct {
	const char *url;
	bool key;
	int r;
} urls[] = {
	{ "https://api.openai.com/v1/chat/completions", true, 0 },
	{ "http://127.0.0.1:4010/v1", true, 0 },
	{ "http://localhost/v1", true, 0 },
	{ "http://[::1]:80/v1", true, 0 },
	{ "http://10.0.0.7/v1", false, 0 },
	{ "http://10.0.0.7/v1", true, -EPERM },
	{ "http://127.0.0.1.example.com/v1", true, -EPERM },
	{ "http://localhost.example.com/v1", true, -EPERM },
	{ "https://user:pass@host/v1", false, -EINVAL },
	{ "file:///etc/passwd", false, -EINVAL },
	{ "gopher://host/", false, -EINVAL },
	{ "ftp://host/", false, -EINVAL },
	{ "api.openai.com/v1", false, -EINVAL },
	{ "", false, -EINVAL },
	{ "http://", false, -EINVAL },
	{ "https://host:99999/", false, -EINVAL },
};

START_TEST(addresses_are_checked)
{
	struct key k = { 0 };
	struct http *h = NULL;
	struct err e = { 0 };

	if (urls[_i].key) {
		(void)strcpy(k.bytes, "some-key");
		k.length = 8;
	}

	int r = http_open(&h, urls[_i].url, &k, 1000, &e);

	ck_assert_msg(r == urls[_i].r, "%s: %d %s", urls[_i].url, r, e.text);
	http_close(h);
}
END_TEST

Suite *agent_key_suite(void)
{
	Suite *s = suite_create("agent key");
	TCase *c = tcase_create("key");

	tcase_add_test(c, key_comes_from_the_environment_and_leaves_it);
	tcase_add_test(c, key_comes_from_a_file);
	tcase_add_test(c, key_with_a_header_in_it_is_refused);
	tcase_add_test(c, key_is_redacted);
	tcase_add_loop_test(c, addresses_are_checked, 0,
			    (int)(sizeof(urls) / sizeof(urls[0])));
	suite_add_tcase(s, c);
	return s;
}
