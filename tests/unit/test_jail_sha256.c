/* SPDX-License-Identifier: MIT */
/*
 * test_jail_sha256.c - SHA-256, by NIST's examples and the lengths around a block's end
 *
 * Examples: NIST, "Examples with Intermediate Values", SHA-256, and FIPS 180-2 appendix B.
 * The digests of the lengths are hashlib's, of bytes 0, 1, 2, ... modulo 251.
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

static const struct {
	size_t length;
	const char *hex;
} lengths[] = {
	{ 1, "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d" },
	{ 55, "463eb28e72f82e0a96c0a4cc53690c571281131f672aa229e0d45ae59b598b59" },
	{ 56, "da2ae4d6b36748f2a318f23e7ab1dfdf45acdc9d049bd80e59de82a60895f562" },
	{ 57, "2fe741af801cc238602ac0ec6a7b0c3a8a87c7fc7d7f02a3fe03d1c12eac4d8f" },
	{ 63, "29af2686fd53374a36b0846694cc342177e428d1647515f078784d69cdb9e488" },
	{ 64, "fdeab9acf3710362bd2658cdc9a29e8f9c757fcf9811603a8c447cd1d9151108" },
	{ 65, "4bfd2c8b6f1eec7a2afeb48b934ee4b2694182027e6d0fc075074f2fabb31781" },
	{ 119, "da18797ed7c3a777f0847f429724a2d8cd5138e6ed2895c3fa1a6d39d18f7ec6" },
	{ 120, "f52b23db1fbb6ded89ef42a23ce0c8922c45f25c50b568a93bf1c075420bbb7c" },
	{ 127, "92ca0fa6651ee2f97b884b7246a562fa71250fedefe5ebf270d31c546bfea976" },
	{ 128, "471fb943aa23c511f6f72f8d1652d9c880cfa392ad80503120547703e56a2be5" },
	{ 129, "5099c6a56203f9687f7d33f4bfdf576d31dc91f6b695ecea38b2770c87631135" },
	{ 1000, "4e4c294b331f7a2099a379bec34b9f9fc03dc46ab465d998f4d683da53487e6d" },
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
	static char letters[1000];
	char hex[SHA256_HEX];
	struct sha256 s;

	memset(letters, 'a', sizeof(letters));
	sha256_begin(&s);
	for (int i = 0; i < 1000; i++)
		sha256_add(&s, letters, sizeof(letters));
	ck_assert_str_eq(
		sha256_end(&s, hex),
		"cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}
END_TEST

/* whole, and in pieces of every size: where they are cut must not matter */
START_TEST(lengths_around_a_block_are_right)
{
	static unsigned char bytes[1000];
	char hex[SHA256_HEX];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(i % 251);
	for (size_t i = 0; i < COUNT(lengths); i++) {
		ck_assert_str_eq(sha256_text(bytes, lengths[i].length, hex),
				 lengths[i].hex);
		for (size_t piece = 1; piece < 130; piece++) {
			struct sha256 s;

			sha256_begin(&s);
			for (size_t at = 0; at < lengths[i].length; at += piece)
				sha256_add(&s, bytes + at,
					   lengths[i].length - at < piece
						   ? lengths[i].length - at
						   : piece);
			HOLDS(strcmp(sha256_end(&s, hex), lengths[i].hex) == 0);
		}
	}
}
END_TEST

Suite *jail_sha256_suite(void)
{
	Suite *s = suite_create("jail sha256");
	TCase *c = tcase_create("sha256");

	tcase_add_test(c, examples_are_right);
	tcase_add_test(c, a_million_letters_are_right);
	tcase_add_test(c, lengths_around_a_block_are_right);
	suite_add_tcase(s, c);
	return s;
}
