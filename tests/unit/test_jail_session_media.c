/* SPDX-License-Identifier: MIT */
/*
 * test_jail_session_media.c - what a step may show, frame by frame
 */
#include <string.h>

#include "jail/serve/session/session.h"
#include "tests/unit/suites.h"

#define LIMIT 100000u

static struct media_seen seen;

static void start(void)
{
	seen = (struct media_seen){ 0 };
}

static bool put(struct media m, const char *name, size_t name_length)
{
	static unsigned char payload[sizeof(m) + 1024];
	struct wire_header h = { (uint32_t)(sizeof(m) + name_length), WIRE_MEDIA, 1 };
	struct media_seen before = seen;

	memcpy(payload, &m, sizeof(m));
	memcpy(payload + sizeof(m), name, name_length);
	if (media_is_right(&seen, &h, payload, LIMIT))
		return true;
	ck_assert_mem_eq(&seen, &before, sizeof(seen));
	return false;
}

static bool media(uint32_t object, int kind, uint64_t bytes)
{
	return put((struct media){ .object = object,
				   .kind = (uint16_t)kind,
				   .from = MEDIA_FROM_FIGURE,
				   .bytes = bytes },
		   "", 0);
}

static bool piece(uint32_t length)
{
	struct wire_header h = { length, WIRE_PIECE, 1 };

	return media_is_right(&seen, &h, NULL, LIMIT);
}

START_TEST(an_item_is_a_media_and_its_pieces)
{
	ck_assert(media(0, MEDIA_PNG, MEDIA_PIECE_MAX * 2 + 1));
	ck_assert(piece(MEDIA_PIECE_MAX));
	ck_assert(piece(MEDIA_PIECE_MAX));
	ck_assert_uint_eq(seen.due, 1);
	ck_assert(piece(1));
	ck_assert(media(0, MEDIA_SVG, 5));
	ck_assert(piece(5));
	ck_assert(media(1, MEDIA_PNG, MEDIA_PIECE_MAX));
	ck_assert(piece(MEDIA_PIECE_MAX));
	ck_assert_uint_eq(seen.objects, 2);
	ck_assert_uint_eq(seen.bytes, MEDIA_PIECE_MAX * 3 + 6);
	ck_assert_uint_eq(seen.left_out, 0);
}
END_TEST

START_TEST(pieces_have_their_size_and_their_time)
{
	ck_assert(!piece(1));
	ck_assert(!piece(0));
	ck_assert(media(0, MEDIA_PNG, MEDIA_PIECE_MAX + 2));
	ck_assert(!piece(0));
	ck_assert(!piece(2));
	ck_assert(!piece(MEDIA_PIECE_MAX - 1));
	ck_assert(!piece(MEDIA_PIECE_MAX + 1));
	/* the next one comes behind the end of this one */
	ck_assert(!media(0, MEDIA_SVG, 1));
	ck_assert(!media(1, MEDIA_SVG, 1));
	ck_assert(piece(MEDIA_PIECE_MAX));
	ck_assert(!piece(1));
	ck_assert(!piece(3));
	ck_assert(piece(2));
	ck_assert(!piece(1));
	ck_assert_uint_eq(seen.due, 0);
}
END_TEST

START_TEST(objects_grow_by_one_and_have_each_form_once)
{
	ck_assert(!media(1, MEDIA_TEXT, 1));
	ck_assert(!media(UINT32_MAX, MEDIA_TEXT, 1));
	for (uint32_t i = 0; i < MEDIA_OBJECTS_MAX; i++) {
		for (int kind = MEDIA_TEXT; kind < MEDIA_KINDS; kind++) {
			ck_assert(media(i, kind, 1));
			ck_assert(piece(1));
			ck_assert(!media(i, kind, 1));
		}
		if (i)
			ck_assert(!media(i - 1, MEDIA_TEXT, 1));
		ck_assert(!media(i + 2, MEDIA_TEXT, 1));
	}
	ck_assert(!media(MEDIA_OBJECTS_MAX, MEDIA_TEXT, 1));
	ck_assert_uint_eq(seen.objects, MEDIA_OBJECTS_MAX);
}
END_TEST

START_TEST(fields_are_of_their_values)
{
	const struct media good = { 0, MEDIA_PNG, MEDIA_FROM_DISPLAY, 0, 0, 7 };
	static const struct media bad[] = {
		{ 0, 0, MEDIA_FROM_DISPLAY, 0, 0, 7 },
		{ 0, MEDIA_KINDS, MEDIA_FROM_DISPLAY, 0, 0, 7 },
		{ 0, UINT16_MAX, MEDIA_FROM_DISPLAY, 0, 0, 7 },
		{ 0, MEDIA_PNG, 0, 0, 0, 7 },
		{ 0, MEDIA_PNG, MEDIA_FROM_FIGURE + 1, 0, 0, 7 },
		{ 0, MEDIA_PNG, MEDIA_FROM_DISPLAY, 2, 0, 7 },
		{ 0, MEDIA_PNG, MEDIA_FROM_DISPLAY, UINT32_MAX, 0, 7 },
		{ 0, MEDIA_PNG, MEDIA_FROM_DISPLAY, 0, 1, 7 },
		{ 0, MEDIA_PNG, MEDIA_FROM_DISPLAY, 0, 0, 0 },
		{ 0, MEDIA_PNG, MEDIA_FROM_DISPLAY, 0, 0, LIMIT + 1 },
		{ 0, MEDIA_PNG, MEDIA_FROM_DISPLAY, 0, 0, UINT64_MAX },
		/* it comes by RESULT */
		{ 0, MEDIA_TEXT, MEDIA_FROM_RESULT, 0, 0, 7 },
	};

	for (size_t i = 0; i < COUNT(bad); i++)
		ck_assert_msg(!put(bad[i], "", 0), "row %zu", i);
	ck_assert(put(good, "", 0));
	ck_assert(piece(7));
	/* forms of one object come of one thing */
	ck_assert(
		!put((struct media){ 0, MEDIA_SVG, MEDIA_FROM_FIGURE, 0, 0, 7 }, "", 0));
	ck_assert(
		put((struct media){ 0, MEDIA_SVG, MEDIA_FROM_DISPLAY, 0, 0, 7 }, "", 0));
}
END_TEST

START_TEST(a_media_that_is_cut_short_is_none)
{
	static const unsigned char payload[sizeof(struct media)];

	for (uint32_t length = 0; length < sizeof(struct media); length++) {
		struct wire_header h = { length, WIRE_MEDIA, 1 };

		ck_assert(!media_is_right(&seen, &h, payload, LIMIT));
	}
}
END_TEST

START_TEST(all_together_is_bounded)
{
	const struct media huge = { 1, MEDIA_SVG, MEDIA_FROM_DISPLAY, MEDIA_LEFT_OUT,
				    0, UINT64_MAX };

	ck_assert(put((struct media){ 0, MEDIA_SVG, MEDIA_FROM_DISPLAY, MEDIA_LEFT_OUT, 0,
				      LIMIT + 1 },
		      "", 0));
	ck_assert(!piece(1));
	ck_assert(put(huge, "", 0));
	ck_assert_uint_eq(seen.left_out, 2);
	ck_assert_uint_eq(seen.bytes, 0);
	for (uint64_t left = LIMIT; left;) {
		uint32_t now = left < MEDIA_PIECE_MAX ? (uint32_t)left : MEDIA_PIECE_MAX;

		ck_assert(!media(seen.objects, MEDIA_PNG, left + 1));
		ck_assert(media(seen.objects, MEDIA_PNG, now));
		ck_assert(piece(now));
		left -= now;
	}
	ck_assert(!media(seen.objects, MEDIA_PNG, 1));
	ck_assert_uint_eq(seen.bytes, LIMIT);
}
END_TEST

START_TEST(where_nothing_is_shown_nothing_is_right)
{
	const struct media m = { 0, MEDIA_PNG, MEDIA_FROM_DISPLAY, MEDIA_LEFT_OUT, 0, 1 };
	struct wire_header h = { sizeof(m), WIRE_MEDIA, 1 };

	ck_assert(!media_is_right(&seen, &h, &m, 0));
	ck_assert(media_is_right(&seen, &h, &m, 1));
	h.type = WIRE_RESULT;
	ck_assert(!media_is_right(&seen, &h, &m, 1));
}
END_TEST

START_TEST(names_are_the_last_part_of_a_path)
{
	static const struct {
		const char *name;
		bool right;
	} rows[] = {
		{ "", true },
		{ "a.png", true },
		{ "a b (1).png", true },
		{ "\xc3\xa4\xe2\x82\xac\xf0\x9f\x90\xa7.svg", true },
		{ "-rf", true },
		{ "..", false },
		{ ".", false },
		{ ".bashrc", false },
		{ "a/b", false },
		{ "/", false },
		{ "a\nb", false },
		{ "a\x1b[2J", false },
		{ "a\x7f", false },
		{ "a\xc2\x9b", false },     /* CSI, of C1 */
		{ "a\xff", false },         /* no UTF-8 */
		{ "a\xc3", false },         /* half of it */
		{ "a\xc0\xaf", false },     /* '/', too long */
		{ "a\xed\xa0\x80", false }, /* a surrogate */
		{ "a\xf4\x90\x80\x80", false },
	};
	struct media m = { 0, MEDIA_PNG, MEDIA_FROM_FIGURE, MEDIA_LEFT_OUT, 0, 1 };
	char longest[MEDIA_NAME_MAX + 1];

	for (size_t i = 0; i < COUNT(rows); i++) {
		start();
		ck_assert_msg(put(m, rows[i].name, strlen(rows[i].name)) == rows[i].right,
			      "row %zu", i);
	}
	start();
	ck_assert(!put(m, "a\0b", 3));
	memset(longest, 'x', sizeof(longest));
	ck_assert(!put(m, longest, sizeof(longest)));
	ck_assert(put(m, longest, MEDIA_NAME_MAX));
}
END_TEST

Suite *jail_session_media_suite(void)
{
	Suite *s = suite_create("jail session media");
	TCase *c = tcase_create("media");

	tcase_add_checked_fixture(c, start, NULL);
	tcase_add_test(c, an_item_is_a_media_and_its_pieces);
	tcase_add_test(c, pieces_have_their_size_and_their_time);
	tcase_add_test(c, objects_grow_by_one_and_have_each_form_once);
	tcase_add_test(c, fields_are_of_their_values);
	tcase_add_test(c, a_media_that_is_cut_short_is_none);
	tcase_add_test(c, all_together_is_bounded);
	tcase_add_test(c, where_nothing_is_shown_nothing_is_right);
	tcase_add_test(c, names_are_the_last_part_of_a_path);
	suite_add_tcase(s, c);
	return s;
}
