/* SPDX-License-Identifier: MIT */
/*
 * test_agent_media.c - what a step shows: frames taken or refused, pictures read or
 * refused
 *
 * Each broken form of a picture is one byte or one length away from a good one: libpng
 * has to find it, with nothing read or written beside what is there (asan).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/loop/prompt.h"
#include "agent/session/media.h"
#include "agent/show/picture.h"
#include "agent/show/terminal.h"
#include "init/wire.h"
#include "tests/unit/suites.h"

static const struct media good = { .kind = MEDIA_PNG,
				   .from = MEDIA_FROM_FIGURE,
				   .bytes = 3 };

static const struct media_item *take(struct media_list *l, const struct media *m,
				     const char *name)
{
	char frame[sizeof(*m) + 300];

	memcpy(frame, m, sizeof(*m));
	memcpy(frame + sizeof(*m), name, strlen(name));
	return media_take(l, WIRE_MEDIA, frame, sizeof(*m) + strlen(name));
}

static const struct media_item *piece(struct media_list *l, const char *bytes)
{
	return media_take(l, WIRE_PIECE, bytes, strlen(bytes));
}

START_TEST(pieces_make_a_whole)
{
	struct media_list *l = calloc(1, sizeof(*l));
	struct media empty = good;
	const struct media_item *m;

	media_clear(l);
	ck_assert_ptr_null(take(l, &good, "a.png"));
	ck_assert_ptr_null(piece(l, "ab"));
	ck_assert_int_eq(l->items[0].state, MEDIA_BROKEN);
	m = piece(l, "c");
	ck_assert_ptr_nonnull(m);
	ck_assert_int_eq(m->state, MEDIA_WHOLE);
	ck_assert_str_eq(text_string(&m->bytes), "abc");
	ck_assert_str_eq(text_string(&m->name), "a.png");
	/* the SHA-256 of "abc" */
	ck_assert_str_eq(m->sha256, "ba7816bf8f01cfea414140de5dae2223"
				    "b00361a396177a9cb410ff61f20015ad");
	empty.object = 1;
	empty.bytes = 0;
	ck_assert_ptr_nonnull(take(l, &empty, ""));
	ck_assert_ptr_null(piece(l, "d"));
	ck_assert(l->nonsense);
	ck_assert_uint_eq(l->count, 2);
	ck_assert_ptr_null(take(l, &good, ""));
	media_clear(l);
	ck_assert(!l->nonsense && !l->items && !l->held);
	free(l);
}
END_TEST

START_TEST(held_bytes_are_bounded)
{
	struct media_list *l = calloc(1, sizeof(*l));
	struct media m = good;

	media_clear(l);
	m.bytes = MEDIA_STEP_BYTES - 1;
	ck_assert_ptr_null(take(l, &m, ""));
	m.object = 1;
	m.bytes = 2;
	ck_assert_ptr_null(take(l, &m, ""));
	ck_assert_int_eq(l->items[1].state, MEDIA_TOO_BIG);
	ck_assert_ptr_null(piece(l, "ab"));
	ck_assert(!l->nonsense);
	m.object = 2;
	m.bytes = 1;
	ck_assert_ptr_null(take(l, &m, ""));
	ck_assert_ptr_nonnull(piece(l, "x"));
	media_clear(l);
	free(l);
}
END_TEST

START_TEST(texts_are_said_once)
{
	struct media_list *l = calloc(1, sizeof(*l));
	struct media m = { .kind = MEDIA_TEXT, .from = MEDIA_FROM_DISPLAY, .bytes = 2 };
	struct text out = { 0 };

	media_clear(l);
	(void)take(l, &m, "");
	(void)piece(l, "hi");
	m.object = 1;
	m.from = MEDIA_FROM_RESULT;
	(void)take(l, &m, "");
	(void)piece(l, "no");
	prompt_shown(l, &out);
	ck_assert_str_eq(text_string(&out), "Shown:\n| hi\n");
	media_clear(l);
	text_free(&out);
	free(l);
}
END_TEST

static void paint(struct picture *p, uint32_t width, uint32_t height)
{
	*p = (struct picture){ width, height, malloc((size_t)width * height * 4) };
	for (size_t i = 0; i < (size_t)width * height; i++) {
		const unsigned char rgba[4] = { (unsigned char)(i * 7),
						(unsigned char)(i * 13),
						(unsigned char)(i / 3), 255 };
		memcpy(p->pixels + i * 4, rgba, 4);
	}
}

START_TEST(pictures_come_back)
{
	static const uint32_t sizes[][2] = {
		{ 1, 1 }, { 1, 300 }, { 17, 9 }, { 64, 64 }
	};

	for (size_t i = 0; i < COUNT(sizes); i++) {
		struct picture p, again = { .pixels = NULL };
		struct text png = { 0 };
		struct err e = { 0 };

		paint(&p, sizes[i][0], sizes[i][1]);
		ck_assert_int_eq(picture_png(&p, &png, &e), 0);
		ck_assert_int_eq(picture_read(png.bytes, png.length, &again, &e), 0);
		ck_assert_uint_eq(again.width, p.width);
		ck_assert_uint_eq(again.height, p.height);
		ck_assert_mem_eq(again.pixels, p.pixels, (size_t)p.width * p.height * 4);
		picture_free(&p);
		picture_free(&again);
		text_free(&png);
	}
}
END_TEST

/* nothing but an error, or a picture of the same size */
static void try_bytes(const char *bytes, size_t length, bool may_be_good)
{
	struct picture p = { .pixels = NULL };
	char *exact = malloc(length + 1); /* so that asan sees its end */
	struct err e = { 0 };
	int r;

	memcpy(exact, bytes, length);
	r = picture_read(exact, length, &p, &e);
	HOLDS(r == 0 || r == -EBADMSG || r == -E2BIG);
	HOLDS(may_be_good || r < 0);
	HOLDS((r == 0) == (p.pixels != NULL));
	picture_free(&p);
	free(exact);
}

START_TEST(broken_pictures_are_refused)
{
	struct picture p;
	struct text png = { 0 };
	struct err e = { 0 };

	paint(&p, 23, 11);
	ck_assert_int_eq(picture_png(&p, &png, &e), 0);
	picture_free(&p);
	/* without its IEND alone it may pass */
	for (size_t length = 0; length + 12 < png.length; length++)
		try_bytes(png.bytes, length, false);
	for (size_t at = 0; at < png.length; at++)
		for (int bit = 0; bit < 8; bit++) {
			png.bytes[at] = (char)(png.bytes[at] ^ 1 << bit);
			/* a chunk that is not needed is passed over with all its bytes */
			try_bytes(png.bytes, png.length, at >= 33);
			png.bytes[at] = (char)(png.bytes[at] ^ 1 << bit);
		}
	text_free(&png);
}
END_TEST

START_TEST(large_ones_shrink)
{
	struct picture p;
	struct err e = { 0 };

	p = (struct picture){ 5, 4, calloc(20, 4) };
	p.pixels[0] = 255; /* a quarter of the first square, and all of its colour */
	p.pixels[3] = 255;
	ck_assert_int_eq(picture_shrink(&p, 3, &e), 0);
	ck_assert_uint_eq(p.width, 3);
	ck_assert_uint_eq(p.height, 2);
	ck_assert_uint_eq(p.pixels[0], 255);
	ck_assert_uint_eq(p.pixels[3], 64);
	ck_assert_uint_eq(p.pixels[7], 0);
	ck_assert_int_eq(picture_shrink(&p, 3, &e), 0);
	ck_assert_uint_eq(p.width, 3);
	picture_free(&p);
}
END_TEST

/* every byte of a sequence is one that may be in it */
START_TEST(sequences_are_clean)
{
	static const enum terminal_way ways[] = { TERMINAL_KITTY, TERMINAL_ITERM2 };
	struct picture p;
	struct err e = { 0 };

	paint(&p, 200, 100);
	for (size_t i = 0; i < COUNT(ways); i++) {
		struct text out = { 0 };

		ck_assert_int_eq(terminal_picture(ways[i], &p, &out, &e), 0);
		ck_assert_int_eq(out.bytes[0], 0x1b);
		ck_assert_int_eq(out.bytes[out.length - 1], '\n');
		for (size_t at = 0; at + 1 < out.length; at++) {
			bool own = ways[i] == TERMINAL_ITERM2 && at + 2 == out.length &&
				   out.bytes[at] == '\a';

			HOLDS(own || out.bytes[at] == 0x1b ||
			      (out.bytes[at] > ' ' && out.bytes[at] < 0x7f));
		}
		text_free(&out);
	}
	picture_free(&p);
}
END_TEST

Suite *agent_media_suite(void)
{
	Suite *s = suite_create("agent/media");
	TCase *c = tcase_create("all");

	tcase_set_timeout(c, 60);
	tcase_add_test(c, pieces_make_a_whole);
	tcase_add_test(c, held_bytes_are_bounded);
	tcase_add_test(c, texts_are_said_once);
	tcase_add_test(c, pictures_come_back);
	tcase_add_test(c, broken_pictures_are_refused);
	tcase_add_test(c, large_ones_shrink);
	tcase_add_test(c, sequences_are_clean);
	suite_add_tcase(s, c);
	return s;
}
