/* SPDX-License-Identifier: MIT */
/*
 * test_jail_place.c - HOST:PORT of --allow-host and of requests
 */
#include <errno.h>
#include <string.h>

#include "jail/egress/place/place.h"
#include "tests/unit/suites.h"

static const struct {
	const char *text, *host;
	uint16_t port;
	bool literal;
} places[] = {
	{ "example.com:443", "example.com", 443, false },
	{ "EXAMPLE.Com:1", "example.com", 1, false },
	{ "a_b-c.d1:65535", "a_b-c.d1", 65535, false },
	{ "localhost:8080", "localhost", 8080, false },
	{ "1.2.3.4:80", "1.2.3.4", 80, true },
	{ "[::1]:80", "::1", 80, true },
	{ "[2001:DB8:0:0::5]:80", "2001:db8::5", 80, true },
	{ "[::FFFF:1.2.3.4]:80", "::ffff:1.2.3.4", 80, true },
	{ "1a.2b:80", "1a.2b", 80, false },
};

START_TEST(places_are_read)
{
	struct place p;
	struct err e;

	for (size_t i = 0; i < COUNT(places); i++) {
		size_t length = strlen(places[i].text);

		ck_assert_msg(place_read(places[i].text, length, 0, false, &p, &e) == 0,
			      "%s", e.text);
		ck_assert_str_eq(p.host, places[i].host);
		ck_assert_uint_eq(p.port, places[i].port);
		ck_assert(p.literal == places[i].literal);
		/* what is behind it is not read */
		ck_assert_int_eq(place_read("a.b:80,c", 6, 0, false, &p, &e), 0);
		ck_assert_uint_eq(p.port, 80);
	}
	ck_assert_int_eq(place_read("a.b", 3, 80, false, &p, &e), 0);
	ck_assert_uint_eq(p.port, 80);
	ck_assert_int_eq(place_read("[::1]", 5, 80, false, &p, &e), 0);
	ck_assert_str_eq(p.host, "::1");
}
END_TEST

/* each is refused, with a port of its own and without one */
static const char *const none[] = {
	"",
	":80",
	"a.b:",
	"a.b:0",
	"a.b:080",
	"a.b:65536",
	"a.b:99999",
	"a.b:8o",
	"a.b:+80",
	"a.b: 80",
	"a.b:80 ",
	"a.b::80",
	"::1",
	"::1:80",
	"[::1",
	"[]:80",
	"[:80",
	"]:80",
	"[::1]x:80",
	"[1.2.3.4]:80",
	"[::1%lo]:80",
	"[a.b]:80",
	"1.2.3.4.:80",
	"1.2.3:80",
	"1.2.3.4.5:80",
	"01.2.3.4:80",
	"0x1.2.3.4:80",
	"a.0x7f:80",
	"a.1:80",
	"256.1.1.1:80",
	"a..b:80",
	".a:80",
	"a.:80",
	"a b:80",
	"a/b:80",
	"u@a.b:80",
	"a.b\t:80",
	"a\x80.b:80",
	"*.a.b:80",
	"*:80",
	"a.*:80",
	"a,b:80",
};

START_TEST(what_is_no_place_is_refused)
{
	char text[600];
	struct place p;
	struct err e;

	for (size_t i = 0; i < COUNT(none); i++)
		ck_assert_msg(place_read(none[i], strlen(none[i]), 0, false, &p, &e) ==
				      -EINVAL,
			      "%s", none[i]);
	for (size_t length = 240; length < sizeof(text) - 4; length += 13) {
		memset(text, 'a', length);
		for (size_t i = 50; i < length; i += 51)
			text[i] = '.';
		(void)strcpy(text + length, ":80");
		ck_assert_int_eq(place_read(text, length + 3, 0, false, &p, &e),
				 length > 253 ? -EINVAL : 0);
	}
}
END_TEST

START_TEST(rules_allow_what_they_name)
{
	static const struct {
		const char *rule, *asked;
		bool allowed;
	} rows[] = {
		{ "a.b:80", "A.b:80", true },        { "a.b:80", "a.b:81", false },
		{ "a.b:80", "x.a.b:80", false },     { "*.a.b:80", "x.a.b:80", true },
		{ "*.a.b:80", "y.x.a.b:80", true },  { "*.a.b:80", "a.b:80", false },
		{ "*.a.b:80", "xa.b:80", false },    { "*.a.b:80", "x.a.b:81", false },
		{ "[::1]:80", "[0::1]:80", true },   { "1.2.3.4:80", "1.2.3.4:80", true },
		{ "[::1]:80", "1.2.3.4:80", false },
	};
	struct place rule, asked;
	struct err e;

	for (size_t i = 0; i < COUNT(rows); i++) {
		const char *rest = rows[i].rule;

		ck_assert_int_eq(place_next(&rest, &rule, &e), 0);
		ck_assert_int_eq(*rest, 0);
		ck_assert_int_eq(place_read(rows[i].asked, strlen(rows[i].asked), 0,
					    false, &asked, &e),
				 0);
		ck_assert_msg(place_allows(&rule, &asked) == rows[i].allowed, "%s %s",
			      rows[i].rule, rows[i].asked);
	}
}
END_TEST

START_TEST(a_list_is_read_one_by_one)
{
	const char *rest = "a.b:1,*.c.d:2,[::1]:3";
	struct place p;
	struct err e;

	for (uint16_t port = 1; port <= 3; port++) {
		ck_assert_int_eq(place_next(&rest, &p, &e), 0);
		ck_assert_uint_eq(p.port, port);
	}
	ck_assert_str_eq(rest, "");
	for (size_t i = 0; i < 3; i++) {
		rest = ((const char *const[]){ "*.c:80", ",a.b:80", "a.*.b:80" })[i];
		ck_assert_int_eq(place_next(&rest, &p, &e), -EINVAL);
	}
}
END_TEST

Suite *jail_place_suite(void)
{
	Suite *s = suite_create("jail/place");
	TCase *t = tcase_create("place");

	tcase_add_test(t, places_are_read);
	tcase_add_test(t, what_is_no_place_is_refused);
	tcase_add_test(t, rules_allow_what_they_name);
	tcase_add_test(t, a_list_is_read_one_by_one);
	suite_add_tcase(s, t);
	return s;
}
