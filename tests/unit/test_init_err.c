/* SPDX-License-Identifier: MIT */
/*
 * test_init_err.c - the one error type
 */
#include <errno.h>
#include <string.h>

#include "init/err.h"
#include "tests/unit/suites.h"

/* a struct err between two guards, so that an overrun is seen without a sanitizer too */
struct guarded {
	char before[16];
	struct err e;
	char after[16];
};

static void guard(struct guarded *g)
{
	memset(g, 0x5a, sizeof(*g));
}

static void ck_unharmed(const struct guarded *g)
{
	for (size_t i = 0; i < sizeof(g->before); i++)
		ck_assert(g->before[i] == 0x5a && g->after[i] == 0x5a);
	ck_assert_ptr_nonnull(memchr(g->e.text, '\0', sizeof(g->e.text)));
}

START_TEST(set_adds_errno_words)
{
	struct err e;

	ck_assert_int_eq(err_set(&e, ENOENT, "open %s", "/x"), -ENOENT);
	ck_assert_int_eq(e.errnum, ENOENT);
	ck_assert_str_eq(e.text, "open /x: No such file or directory");
}
END_TEST

START_TEST(set_without_errno_is_einval)
{
	struct err e;

	ck_assert_int_eq(err_set(&e, 0, "odd"), -EINVAL);
	ck_assert_int_eq(e.errnum, EINVAL);
	ck_assert_str_eq(e.text, "odd");
}
END_TEST

START_TEST(say_adds_nothing)
{
	struct err e;

	ck_assert_int_eq(err_say(&e, EEXIST, "%d times", 2), -EEXIST);
	ck_assert_int_eq(e.errnum, EEXIST);
	ck_assert_str_eq(e.text, "2 times");
}
END_TEST

START_TEST(within_puts_words_before)
{
	struct err e;

	(void)err_set(&e, ENOENT, "open %s", "/x");
	ck_assert_int_eq(err_within(&e, "%s line %d: ", "policy", 3), -ENOENT);
	ck_assert_int_eq(e.errnum, ENOENT);
	ck_assert_str_eq(e.text, "policy line 3: open /x: No such file or directory");
}
END_TEST

/* every length around the bound, of the text and of the words behind it */
START_TEST(text_is_cut_not_overrun)
{
	char words[2 * ERR_TEXT_MAX];
	struct guarded g;

	memset(words, 'w', sizeof(words));
	for (int n = ERR_TEXT_MAX - 40; n < ERR_TEXT_MAX + 40; n++) {
		size_t kept = n < ERR_TEXT_MAX ? (size_t)n : ERR_TEXT_MAX - 1;

		guard(&g);
		ck_assert_int_eq(err_say(&g.e, EIO, "%.*s", n, words), -EIO);
		ck_unharmed(&g);
		ck_assert_uint_eq(strlen(g.e.text), kept);

		(void)err_say(&g.e, EIO, "inner");
		ck_assert_int_eq(err_within(&g.e, "%.*s", n, words), -EIO);
		ck_unharmed(&g);
		ck_assert_int_eq(memcmp(g.e.text, words, kept), 0);

		guard(&g);
		ck_assert_int_eq(err_set(&g.e, ENOENT, "%.*s", n, words), -ENOENT);
		ck_unharmed(&g);
		ck_assert_uint_ge(strlen(g.e.text), kept);
		ck_assert_int_eq(memcmp(g.e.text, words, kept), 0);
	}
}
END_TEST

START_TEST(control_bytes_are_not_passed_on)
{
	struct err e;

	(void)err_say(&e, EIO, "a\nb\x1b[31m\x7f\t\xc3\xa9\r");
	ck_assert_str_eq(e.text, "a?b?[31m?\t\xc3\xa9?");
	(void)err_set(&e, ENOENT, "open %s", "x\ny");
	ck_assert_str_eq(e.text, "open x?y: No such file or directory");
	(void)err_within(&e, "%s: ", "p\nq");
	ck_assert_str_eq(e.text, "p?q: open x?y: No such file or directory");
}
END_TEST

Suite *init_err_suite(void)
{
	Suite *s = suite_create("init err");
	TCase *c = tcase_create("err");

	tcase_add_test(c, set_adds_errno_words);
	tcase_add_test(c, set_without_errno_is_einval);
	tcase_add_test(c, say_adds_nothing);
	tcase_add_test(c, within_puts_words_before);
	tcase_add_test(c, text_is_cut_not_overrun);
	tcase_add_test(c, control_bytes_are_not_passed_on);
	suite_add_tcase(s, c);
	return s;
}
