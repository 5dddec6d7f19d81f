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
#include "agent/model/chat.h"
#include "agent/session/media.h"
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

START_TEST(a_png_tells_its_size)
{
	static const char bytes[] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\1\2\0\0\0\7";
	const size_t length = sizeof(bytes) - 1;
	struct media_item m = { .head = { .kind = MEDIA_PNG } };
	uint32_t width = 0, height = 0;

	text_add(&m.bytes, bytes, length);
	ck_assert(media_png_size(&m, &width, &height));
	ck_assert_uint_eq(width, 258);
	ck_assert_uint_eq(height, 7);
	m.head.kind = MEDIA_SVG;
	ck_assert(!media_png_size(&m, &width, &height));
	m.head.kind = MEDIA_PNG;
	/* one byte less, one byte wrong, or no side */
	m.bytes.length--;
	ck_assert(!media_png_size(&m, &width, &height));
	m.bytes.length++;
	for (size_t at = 0; at < 16; at++) {
		m.bytes.bytes[at] ^= 1;
		ck_assert(!media_png_size(&m, &width, &height));
		m.bytes.bytes[at] ^= 1;
	}
	m.bytes.bytes[length - 1] = 0;
	ck_assert(!media_png_size(&m, &width, &height));
	text_free(&m.bytes);
}
END_TEST

static void observe(struct chat *chat)
{
	chat_add(chat, ROLE_ASSISTANT, "code", 4);
	chat_add_observation(chat, "Step: done.\nx", 13);
}

START_TEST(pictures_go_with_their_observation)
{
	struct text png = { .bytes = (char[]){ "PNG" }, .length = 3 };
	struct chat chat = { 0 };
	struct gauge g = { 0 };
	struct compacted done;
	uint64_t before, with;

	for (int i = 1; i <= 3; i++)
		observe(&chat);
	before = chat_bytes(&chat);
	chat_free(&chat);
	for (int i = 1; i <= 3; i++) {
		for (int k = 0; k < 4; k++)
			chat_show(&chat, &png);
		observe(&chat);
	}
	/* of twelve the newest eight; each counts as 4,800 bytes, whatever it has */
	ck_assert_int_eq(cJSON_GetArraySize(chat.list[1].pictures), 0);
	ck_assert_int_eq(cJSON_GetArraySize(chat.list[3].pictures), 4);
	ck_assert_int_eq(cJSON_GetArraySize(chat.list[5].pictures), 4);
	ck_assert_str_eq(chat.list[5].pictures->child->valuestring, "UE5H");
	with = chat_bytes(&chat);
	ck_assert_uint_eq(with, before + 8 * 4800);
	/* words that would not become shorter stay; the last observation keeps all */
	done = compact_chat(&chat, 1, &g);
	ck_assert_str_eq(chat.list[3].text, "Step: done.\nx");
	ck_assert_ptr_null(chat.list[3].pictures);
	ck_assert_int_eq(cJSON_GetArraySize(chat.list[5].pictures), 4);
	ck_assert_uint_eq(done.bytes, 4 * 4800);
	ck_assert_uint_eq(chat_bytes(&chat), with - done.bytes);
	chat_show(&chat, &png); /* of no observation any more */
	chat_free(&chat);
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
	tcase_add_test(c, a_png_tells_its_size);
	tcase_add_test(c, pictures_go_with_their_observation);
	suite_add_tcase(s, c);
	return s;
}
