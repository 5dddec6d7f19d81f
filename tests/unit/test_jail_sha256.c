/* SPDX-License-Identifier: MIT */
/*
 * test_jail_sha256.c - SHA-256 in hex, by NIST's examples
 *
 * Examples: NIST, "Examples with Intermediate Values", SHA-256, and FIPS 180-2 appendix B.
 */
#include <string.h>

#include "jail/base/sha256.h"
#include "tests/unit/suites.h"

static const struct {
	const char *text, *hex;
} examples[] = {
	{ "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
	{ "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
	{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
	  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
	{ "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
	  "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
	  "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1" },
};

START_TEST(examples_are_right)
{
	char hex[SHA256_HEX];

	for (size_t i = 0; i < COUNT(examples); i++)
		ck_assert_str_eq(
			sha256_text(examples[i].text, strlen(examples[i].text), hex),
			examples[i].hex);
}
END_TEST

START_TEST(a_million_letters_are_right)
{
	static uint8_t letters[1000];
	char hex[SHA256_HEX];
	struct sha256_ctx s;

	memset(letters, 'a', sizeof(letters));
	sha256_init(&s);
	for (int i = 0; i < 1000; i++)
		sha256_update(&s, sizeof(letters), letters);
	ck_assert_str_eq(
		sha256_end(&s, hex),
		"cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}
END_TEST

Suite *jail_sha256_suite(void)
{
	Suite *s = suite_create("jail sha256");
	TCase *c = tcase_create("sha256");

	tcase_add_test(c, examples_are_right);
	tcase_add_test(c, a_million_letters_are_right);
	suite_add_tcase(s, c);
	return s;
}
