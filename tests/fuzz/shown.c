/* SPDX-License-Identifier: MIT */
/*
 * shown.c - any bytes as the frames of what a step shows
 *
 * An input is parts: a byte for the kind, two for the length, bytes.
 */
#include "agent/loop/prompt.h"
#include "agent/session/media.h"
#include "init/wire.h"
#include "tests/fuzz/fuzz.h"

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
	return 0;
}
