/* SPDX-License-Identifier: MIT */
/*
 * media.c - what a step shows, as it comes: see media.h
 */
#include <endian.h>

#include "agent/base/memory.h"
#include "agent/session/media.h"
#include "init/wire.h"

const struct media_form media_forms[MEDIA_KINDS] = {
	[MEDIA_TEXT] = { "text", "txt", "a text" },
	[MEDIA_HTML] = { "html", "html", "HTML" },
	[MEDIA_JSON] = { "json", "json", "JSON" },
	[MEDIA_PNG] = { "png", "png", "a picture" },
	[MEDIA_SVG] = { "svg", "svg", "a picture as SVG" },
};

void media_clear(struct media_list *l)
{
	for (size_t i = 0; i < l->count; i++) {
		text_free(&l->items[i].name);
		text_free(&l->items[i].bytes);
		text_free(&l->items[i].saved);
		text_free(&l->items[i].unsaved);
	}
	free(l->items);
	*l = (struct media_list){ .items = NULL };
	clip_clear(&l->said);
}

const struct media_item *media_find(const struct media_list *l, uint32_t object,
				    enum media_kind kind)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->items[i].head.object == object &&
		    l->items[i].head.kind == (uint16_t)kind)
			return &l->items[i];
	return NULL;
}

bool media_is_said(const struct media_item *item)
{
	return item->head.kind == MEDIA_TEXT && item->state == MEDIA_WHOLE &&
	       item->head.from != MEDIA_FROM_RESULT;
}

/* forms of an object follow each other, each kind once, all from the same */
static bool fits(const struct media_list *l, const struct media *m)
{
	const struct media *last = l->count ? &l->items[l->count - 1].head : NULL;

	if (m->object >= MEDIA_OBJECTS_MAX || m->kind < MEDIA_TEXT ||
	    m->kind >= MEDIA_KINDS || m->from < MEDIA_FROM_DISPLAY ||
	    m->from > MEDIA_FROM_FIGURE || (m->flags & ~MEDIA_LEFT_OUT) || m->reserved ||
	    m->bytes > (uint64_t)1 << 53)
		return false;
	if (!last || m->object > last->object)
		return true;
	return m->object == last->object && m->from == last->from &&
	       !media_find(l, m->object, (enum media_kind)m->kind);
}

static const struct media_item *finish(struct media_list *l, struct media_item *item)
{
	item->state = MEDIA_WHOLE;
	digest_bytes(text_string(&item->bytes), item->bytes.length, item->sha256);
	if (!media_is_said(item))
		return item;
	clip_add(&l->said, text_string(&item->bytes), item->bytes.length);
	if (item->bytes.length && item->bytes.bytes[item->bytes.length - 1] != '\n')
		clip_add(&l->said, "\n", 1);
	return item;
}

static const struct media_item *refuse(struct media_list *l)
{
	l->nonsense = true;
	return NULL;
}

static const struct media_item *begin(struct media_list *l, const char *bytes,
				      size_t length)
{
	struct media m;

	if (length < sizeof(m) || length > sizeof(m) + MEDIA_NAME_MAX)
		return refuse(l);
	memcpy(&m, bytes, sizeof(m));
	bytes += sizeof(m);
	length -= sizeof(m);
	if (memchr(bytes, '\0', length) || !fits(l, &m))
		return refuse(l);
	if (!l->items)
		l->items = memory_zeroed(MEDIA_ITEMS_MAX, sizeof(*l->items));

	struct media_item *item =
		&l->items[l->count++]; /* there is room: each object has each kind once */
	item->head = m;

	item->bytes.max = MEDIA_STEP_BYTES;
	text_add(&item->name, bytes, length);
	item->state = m.flags & MEDIA_LEFT_OUT               ? MEDIA_ABSENT
		      : m.bytes > MEDIA_STEP_BYTES - l->held ? MEDIA_TOO_BIG
							     : MEDIA_BROKEN;
	if (item->state != MEDIA_BROKEN)
		return NULL;
	l->held += (size_t)m.bytes;
	return m.bytes ? NULL : finish(l, item);
}

const struct media_item *media_take(struct media_list *l, uint16_t type,
				    const char *bytes, size_t length)
{
	struct media_item *item = l->count ? &l->items[l->count - 1] : NULL;

	if (l->nonsense)
		return NULL;
	if (type == WIRE_MEDIA)
		return begin(l, bytes, length);
	if (item && item->state == MEDIA_TOO_BIG)
		return NULL;
	if (!item || item->state != MEDIA_BROKEN || !length || length > MEDIA_PIECE_MAX ||
	    length > item->head.bytes - item->bytes.length)
		return refuse(l);
	text_add(&item->bytes, bytes, length); /* begin() has seen that there is room */
	return item->bytes.length == item->head.bytes ? finish(l, item) : NULL;
}

bool media_png_size(const struct media_item *m, uint32_t *width, uint32_t *height)
{
	static const char begin[] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
	const size_t n = sizeof(begin) - 1;
	uint32_t sides[2];

	if (m->head.kind != MEDIA_PNG || m->bytes.length < n + sizeof(sides) ||
	    memcmp(m->bytes.bytes, begin, n) != 0)
		return false;
	memcpy(sides, m->bytes.bytes + n, sizeof(sides));
	*width = be32toh(sides[0]);
	*height = be32toh(sides[1]);
	return *width && *height;
}
