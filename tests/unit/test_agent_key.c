/* SPDX-License-Identifier: MIT */
/*
 * test_agent_key.c - keys, and the addresses they may be sent to
 */
#include <check.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/base/secret.h"
#include "agent/key/http.h"
#include "agent/key/key.h"
#include "agent/key/mask.h"
#include "tests/unit/suites.h"

/* a file with these bytes; removed when all tests have ended */
static const char *make_file(const char *bytes, size_t length)
{
	const char *path = unit_file(unit_folder(), "file", bytes, length);

	ck_assert_int_eq(chmod(path, 0600), 0);
	return path;
}

START_TEST(key_comes_from_the_environment_and_leaves_it)
{
	struct key k;
	struct err e = { 0 };

	(void)setenv("OPENAI_API_KEY", "second-key", 1);
	(void)setenv("STEPJAIL_API_KEY", "first-key\n", 1);

	const char *was = getenv("STEPJAIL_API_KEY");

	ck_assert_int_eq(key_load(&k, NULL, "OPENAI_API_KEY", &e), 0);
	ck_assert_str_eq(k.bytes, "first-key");
	ck_assert_ptr_null(getenv("STEPJAIL_API_KEY"));
	ck_assert_ptr_null(getenv("OPENAI_API_KEY"));
	ck_assert_int_eq(was[0], 0); /* the bytes are gone too, not the name alone */
	ck_assert_int_eq(key_load(&k, NULL, "OPENAI_API_KEY", &e), 0);
	ck_assert_uint_eq(k.length, 0);
}
END_TEST

START_TEST(key_comes_from_a_file)
{
	struct key k;
	struct err e = { 0 };

	(void)setenv("STEPJAIL_API_KEY", "not-this", 1);
	const char *path = make_file("from-file\r\n", 11);

	ck_assert_int_eq(key_load(&k, path, NULL, &e), 0);
	ck_assert_str_eq(k.bytes, "from-file");
	(void)unlink(path);
	ck_assert_int_lt(key_load(&k, path, NULL, &e), 0);
	ck_assert_int_lt(key_load(&k, make_file("\n", 1), NULL, &e), 0);
}
END_TEST

START_TEST(key_with_a_header_in_it_is_refused)
{
	struct key k;
	struct err e = { 0 };

	(void)setenv("STEPJAIL_API_KEY", "secret\r\nX: y", 1);
	ck_assert_int_eq(key_load(&k, NULL, "OPENAI_API_KEY", &e), -EINVAL);
	ck_assert_ptr_null(strstr(e.text, "secret"));
	ck_assert_uint_eq(k.length, 0);
}
END_TEST

START_TEST(key_of_another_provider_is_not_used)
{
	struct key k;
	struct err e = { 0 };

	(void)setenv("OPENAI_API_KEY", "of-openai", 1);
	(void)setenv("ANTHROPIC_API_KEY", "of-anthropic", 1);
	ck_assert_int_eq(key_load(&k, NULL, "ANTHROPIC_API_KEY", &e), 0);
	ck_assert_str_eq(k.bytes, "of-anthropic");
	ck_assert_ptr_null(getenv("OPENAI_API_KEY"));
	ck_assert_str_eq(key_header(&k, "x-api-key: "), "x-api-key: of-anthropic");
	(void)setenv("OPENAI_API_KEY", "of-openai", 1);
	ck_assert_int_eq(key_load(&k, NULL, NULL, &e), 0);
	ck_assert_uint_eq(k.length, 0);
	ck_assert_ptr_null(getenv("OPENAI_API_KEY"));
	ck_assert_str_eq(key_header(&k, "x-api-key: "), "");
}
END_TEST

/* the flags of the mapping that holds an address, as smaps has them */
static void flags_of(const void *address, char *flags, size_t size)
{
	FILE *f = fopen("/proc/self/smaps", "re");
	char line[512];
	bool here = false;

	flags[0] = '\0';
	ck_assert_ptr_nonnull(f);
	while (fgets(line, sizeof(line), f)) {
		uintptr_t from, to;

		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &from, &to) == 2)
			here = (uintptr_t)address >= from && (uintptr_t)address < to;
		else if (here && strncmp(line, "VmFlags:", 8) == 0)
			(void)snprintf(flags, size, "%s", line + 8);
	}
	(void)fclose(f);
}

START_TEST(key_is_kept_out_of_dumps_and_children)
{
	struct err e = { 0 };
	struct key *k = secret_new(sizeof(*k), &e);
	char flags[256];
	int status;

	ck_assert_msg(k != NULL, "%s", e.text);
	(void)setenv("STEPJAIL_API_KEY", "some-key", 1);
	ck_assert_int_eq(key_load(k, NULL, NULL, &e), 0);
	ck_assert_str_eq(key_header(k, "x: "), "x: some-key");
	flags_of(k, flags, sizeof(flags));
	ck_assert_msg(strstr(flags, " dd ") != NULL, "no MADV_DONTDUMP: %s", flags);
	flags_of((char *)(k + 1) - 1, flags, sizeof(flags));
	ck_assert_msg(strstr(flags, " dd ") != NULL, "no MADV_DONTDUMP: %s", flags);

	pid_t pid = fork();

	if (pid == 0)
		_exit(k->length || k->bytes[0] || k->header[0]);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_uint_eq(k->length, 8);
}
END_TEST

/* as the key is overwritten, by what does not know it */
START_TEST(mask_covers_the_key)
{
	struct key k = { .length = 8, .bytes = "sk-12345" };
	char text[] = "sk-12345 and sk-1234sk-12345sk-12345 sk-12435 ks-12345";
	struct mask m;
	struct err e;

	ck_assert_int_eq(mask_make(&m, &k, &e), 0);
	ck_assert_ptr_null(memmem(&m, sizeof(m), k.bytes, 3));
	ck_assert(mask_cover(&m, text, strlen(text), 0));
	/* what lacks the last byte is covered, too; "sk-1243" has the same length, first byte
	 * and sum */
	ck_assert_str_eq(text, "******** and *********************** sk-12435 ks-12345");
	ck_assert(!mask_cover(&m, text, strlen(text), 0));
	ck_assert(!mask_cover(&m, NULL, 0, 0));
	ck_assert(!mask_cover(NULL, text, 7, 0));

	struct mask again;

	ck_assert_int_eq(mask_make(&again, &k, &e), 0);
	ck_assert_int_ne(memcmp(m.digest, again.digest, sizeof(m.digest)), 0);
	k = (struct key){ .length = 7, .bytes = "sk-1234" };
	ck_assert_int_eq(mask_make(&m, &k, &e), 0);
	ck_assert(!mask_cover(&m, text, strlen(text), 0));
	ck_assert_ptr_nonnull(strstr(text, "sk-1243"));
	ck_assert_uint_eq(mask_held(&m, text, strlen(text)), 0);
}
END_TEST

static const struct {
	const char *text;
	size_t held; /* with the key sk-12345 */
} tails[] = {
	{ "", 0 },       { "s", 1 },         { "the s", 1 },       { "a word", 0 },
	{ "sk-123", 6 }, { "its", 1 },       { "sk-1234", 7 },     { "sk-12345", 0 },
	{ "ask-1", 4 },  { "s\xc3\xa9", 0 }, { "s\xc3\xa9sk", 2 }, { "sssssssssss", 7 },
};

START_TEST(mask_holds_what_may_begin_the_key)
{
	struct key k = { .length = 8, .bytes = "sk-12345" };
	struct mask m;
	struct err e;

	ck_assert_int_eq(mask_make(&m, &k, &e), 0);
	ck_assert_uint_eq(mask_held(&m, tails[_i].text, strlen(tails[_i].text)),
			  tails[_i].held);
}
END_TEST

START_TEST(key_is_redacted)
{
	struct key k = { .length = 8, .bytes = "sk-12345" };
	char text[] = "sk-12345 and sk-123sk-12345";

	ck_assert_uint_eq(key_redact(&k, text, strlen(text), false), 0);
	ck_assert_str_eq(text, "******** and sk-123********");
	ck_assert_uint_eq(key_redact(&k, NULL, 0, false), 0);
	/* what was cut off may end in the middle of it */
	char cut[] = "sk-1 is sk-12345x, sk-1234";

	ck_assert_uint_eq(key_redact(&k, cut, 4, false), 4);
	ck_assert_uint_eq(key_redact(&k, cut, 15, false), 7);
	ck_assert_str_eq(cut, "sk-1 is sk-12345x, sk-1234");
	ck_assert_uint_eq(key_redact(&k, cut, strlen(cut), false), 7);
	ck_assert_str_eq(cut, "sk-1 is ********x, sk-1234");
	ck_assert_uint_eq(key_redact(&k, cut, 17, false), 0);
	/* all but its last byte, and then another */
	ck_assert_uint_eq(key_redact(&k, cut, strlen(cut), true), 0);
	ck_assert_str_eq(cut, "sk-1 is ********x, *******");
	char other[] = "sk-1234sk-12345";

	ck_assert_uint_eq(key_redact(&k, other, strlen(other), false), 0);
	ck_assert_str_eq(other, "***************");
	k = (struct key){ .length = 12, .bytes = "sk-123456789" };
	(void)strcpy(cut, "sk-123456789 sk-12345678");
	ck_assert_uint_eq(key_redact(&k, cut, strlen(cut), true), 0);
	ck_assert_str_eq(cut, "************ ***********");
	k = (struct key){ .length = 1, .bytes = "e" };
	ck_assert_uint_eq(key_redact(&k, text, strlen(text), true), 0);
	k = (struct key){ .length = 0 };
	ck_assert_uint_eq(key_redact(&k, text, strlen(text), true), 0);
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
	{ "http://127.0.0.1.5/v1", true, -EPERM },
	{ "http://127.1/v1", true, 0 },
	{ "http://LOCALHOST/v1", true, 0 },
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
	struct confine_policy policy = { 0 };
	struct reach to;
	struct http h = { 0 };
	struct err e = { 0 };

	if (urls[_i].key) {
		(void)strcpy(k.bytes, "some-key");
		k.length = 8;
	}

	int r = reach_server(&policy, urls[_i].url, &to, &e);

	if (r == 0)
		r = http_open(
			&h,
			&(struct http_place){ .url = urls[_i].url,
					      .key_prefix = "Authorization: Bearer " },
			&to, &k, &e);
	ck_assert_msg(r == urls[_i].r, "%s: %d %s", urls[_i].url, r, e.text);
	curl_easy_cleanup(h.easy);
}
END_TEST

Suite *agent_key_suite(void)
{
	Suite *s = suite_create("agent key");
	TCase *c = tcase_create("key");

	tcase_add_test(c, key_comes_from_the_environment_and_leaves_it);
	tcase_add_test(c, key_comes_from_a_file);
	tcase_add_test(c, key_with_a_header_in_it_is_refused);
	tcase_add_test(c, key_of_another_provider_is_not_used);
	tcase_add_test(c, key_is_kept_out_of_dumps_and_children);
	tcase_add_test(c, key_is_redacted);
	tcase_add_test(c, mask_covers_the_key);
	tcase_add_loop_test(c, mask_holds_what_may_begin_the_key, 0,
			    (int)(sizeof(tails) / sizeof(tails[0])));
	tcase_add_loop_test(c, addresses_are_checked, 0,
			    (int)(sizeof(urls) / sizeof(urls[0])));
	suite_add_tcase(s, c);
	return s;
}
