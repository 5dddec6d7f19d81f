/* SPDX-License-Identifier: MIT */
/*
 * shown.c - any bytes as what a step shows: as frames, and as a picture
 *
 * An input is parts: a byte for the kind, two for the length, bytes. A picture's
 * checksums are made good first, for no search finds them.
 */
#include "agent/loop/prompt.h"
#include "agent/session/media.h"
#include "agent/show/picture.h"
#include "agent/show/terminal.h"
#include "init/wire.h"
#include "tests/fuzz/fuzz.h"

#define SIDE_MAX 64u

static uint32_t checksum(const unsigned char *at, size_t length)
{
	uint32_t sum = UINT32_MAX;

	while (length--) {
		sum ^= *at++;
		for (int bit = 0; bit < 8; bit++)
			sum = sum >> 1 ^ (sum & 1 ? 0xedb88320u : 0);
	}
	return ~sum;
}

static void mend(unsigned char *at, size_t left)
{
	for (at += 8, left -= 8; left >= 12;) {
		size_t data = (size_t)at[0] << 24 | (size_t)at[1] << 16 |
			      (size_t)at[2] << 8 | at[3];

		if (data > left - 12)
			return;

		uint32_t sum = checksum(at + 4, data + 4);

		for (int i = 0; i < 4; i++)
			at[8 + data + (size_t)i] = (unsigned char)(sum >> (24 - 8 * i));
		at += 12 + data;
		left -= 12 + data;
	}
}

static void check_picture(const void *bytes, size_t length)
{
	static const enum terminal_way ways[] = { TERMINAL_KITTY, TERMINAL_ITERM2 };
	struct picture p = { .pixels = NULL };
	unsigned char *copy = malloc(length + 1);
	uint32_t width, height;
	struct err e = { 0 };

	memcpy(copy, bytes, length);
	if (length > 8)
		mend(copy, length);
	/* what takes long is no finding */
	if (picture_size(copy, length, &width, &height, &e) == 0 && width <= 2048 &&
	    height <= 2048 && picture_read(copy, length, &p, &e) == 0) {
		HOLDS(p.width == width && p.height == height);
		HOLDS(picture_shrink(&p, SIDE_MAX, &e) == 0);
		HOLDS(p.width && p.width <= SIDE_MAX && p.height && p.height <= SIDE_MAX);
		for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
			struct text out = { 0 };

			HOLDS(terminal_picture(ways[i], &p, &out, &e) == 0);
			text_free(&out);
		}
	} else {
		HOLDS(!p.pixels);
	}
	picture_free(&p);
	free(copy);
}

static void check_list(const struct media_list *l)
{
	struct text told = { 0 };
	size_t held = 0;

	HOLDS(l->count <= MEDIA_ITEMS_MAX && l->held <= MEDIA_STEP_BYTES);
	for (size_t i = 0; i < l->count; i++) {
		const struct media_item *m = &l->items[i];

		held += m->bytes.length;
		HOLDS(m->head.object < MEDIA_OBJECTS_MAX && m->name.length <= 255);
		HOLDS(m->head.kind >= MEDIA_TEXT && m->head.kind < MEDIA_KINDS);
		HOLDS(m->head.from >= MEDIA_FROM_DISPLAY &&
		      m->head.from <= MEDIA_FROM_FIGURE);
		HOLDS((m->state == MEDIA_WHOLE) == (m->sha256[0] != '\0'));
		HOLDS(m->state != MEDIA_WHOLE || m->bytes.length == m->head.bytes);
		HOLDS(media_find(l, m->head.object, (enum media_kind)m->head.kind) == m);
		if (m->state == MEDIA_WHOLE && m->head.kind == MEDIA_PNG)
			check_picture(text_string(&m->bytes), m->bytes.length);
	}
	HOLDS(held <= l->held);
	prompt_shown(l, &told);
	for (size_t i = 0; i < told.length; i++)
		HOLDS(told.bytes[i] == '\n' || told.bytes[i] == '\t' ||
		      !iscntrl((unsigned char)told.bytes[i]));
	text_free(&told);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct media_list *l = calloc(1, sizeof(*l));
	size_t left = size;
	const uint8_t *at = bytes;

	media_clear(l);
	while (left >= 3) {
		size_t length = (size_t)at[1] << 8 | at[2];

		length = length < left - 3 ? length : left - 3;
		(void)media_take(l, at[0] & 1 ? WIRE_PIECE : WIRE_MEDIA,
				 (const char *)at + 3, length);
		at += 3 + length;
		left -= 3 + length;
	}
	check_list(l);
	media_clear(l);
	free(l);
	check_picture(bytes, size);
	return 0;
}
