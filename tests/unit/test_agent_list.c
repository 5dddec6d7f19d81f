/* SPDX-License-Identifier: MIT */
/*
 * test_agent_list.c - entries of a jail's folder, as stepjail lists them
 */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "agent/session/session.h"
#include "tests/unit/suites.h"

static const struct {
	const char *line;
	int r;
	char kind;
	uint64_t size_bytes;
	const char *name;
} entries[] = {
	{ "- 12 1700000000 a.py", 1, '-', 12, "a.py" },
	{ "d 0 0 folder", 1, 'd', 0, "folder" },
	{ "l 3 -5 a link", 1, 'l', 3, "a link" },
	{ "- 1 0  - 2 0 b", 1, '-', 1, " - 2 0 b" },
	{ "- 1 0 \x1b[2J\n\xff", 1, '-', 1, "\x1b[2J\n\xff" },
	{ "- 1 0 ", 1, '-', 1, "" },
	{ "  1 0 x", 1, ' ', 1, "x" },
	{ "- 18446744073709551616 0 x", 1, '-', UINT64_MAX, "x" },
	{ "", -EBADMSG, 0, 0, NULL },
	{ "-", -EBADMSG, 0, 0, NULL },
	{ "- ", -EBADMSG, 0, 0, NULL },
	{ "- 1", -EBADMSG, 0, 0, NULL },
	{ "- 1 0", -EBADMSG, 0, 0, NULL },
	{ "- x 0 name", -EBADMSG, 0, 0, NULL },
	{ "-- 1 0 name", -EBADMSG, 0, 0, NULL },
};

START_TEST(entry_is_taken_apart)
{
	cleanup_text struct text list = { 0 };
	struct session_entry entry = { 0 };
	size_t at = 0;

	text_puts(&list, entries[_i].line);
	text_add(&list, "\0- 7 7 next", sizeof("\0- 7 7 next"));
	ck_assert_int_eq(session_entry_next(&list, &at, &entry), entries[_i].r);
	if (entries[_i].r > 0) {
		ck_assert_int_eq(entry.kind, entries[_i].kind);
		ck_assert_uint_eq(entry.size_bytes, entries[_i].size_bytes);
		ck_assert_str_eq(entry.name, entries[_i].name);
	}
	ck_assert_int_eq(session_entry_next(&list, &at, &entry), 1);
	ck_assert_str_eq(entry.name, "next");
	ck_assert_int_eq(session_entry_next(&list, &at, &entry), 0);
}
END_TEST

/* the bytes of the last entry may lack their NUL */
START_TEST(listing_may_be_cut)
{
	static const char all[] = "- 1 0 one\0d 2 0 two";

	for (size_t length = 0; length < sizeof(all); length++) {
		cleanup_text struct text list = { 0 };
		struct session_entry entry;
		size_t at = 0;
		int r;

		text_add(&list, all, length);
		while ((r = session_entry_next(&list, &at, &entry)) != 0)
			ck_assert(r == -EBADMSG || strlen(entry.name) <= 3);
	}
}
END_TEST

Suite *agent_list_suite(void)
{
	Suite *s = suite_create("agent list");
	TCase *c = tcase_create("list");

	tcase_add_loop_test(c, entry_is_taken_apart, 0, (int)COUNT(entries));
	tcase_add_test(c, listing_may_be_cut);
	suite_add_tcase(s, c);
	return s;
}
