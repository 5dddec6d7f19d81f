/* SPDX-License-Identifier: MIT */
/*
 * shown_show.c - what a step shows, put before the user: see shown.h
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "agent/base/escape.h"
#include "agent/base/units.h"
#include "agent/record/shown.h"

/* what is left for one step's pictures */
struct allowance {
	uint32_t pictures;
	uint64_t pixels;
};

/* why it is not shown is in @e */
static int draw(const struct shown *s, const struct media_item *m, struct allowance *left,
		struct show *pictures, struct err *e)
{
	cleanup_picture struct picture p = { .pixels = NULL };
	cleanup_text struct text bytes = { 0 };
	uint32_t width, height;
	int r = picture_size(text_string(&m->bytes), m->bytes.length, &width, &height, e);
	uint64_t pixels = r < 0 ? 0 : (uint64_t)width * height;

	if (r == 0 && (!left->pictures || pixels > left->pixels))
		r = err_say(e, EMSGSIZE,
			    "a step's first %u pictures are, up to %llu million pixels",
			    SHOWN_PICTURES_MAX, SHOWN_PIXELS_MAX >> 20);
	if (r < 0)
		return r;
	left->pictures--;
	left->pixels -= pixels;
	r = picture_read(text_string(&m->bytes), m->bytes.length, &p, e);
	if (r == 0)
		r = picture_shrink(&p, PICTURE_SHOWN_SIDE, e);
	if (r == 0)
		r = terminal_picture(s->way, &p, &bytes, e);
	if (r == 0)
		show_picture(pictures, &bytes);
	return r;
}

/* the name is its object's: the form before it has said it */
static bool is_named(const struct media_item *m, const struct media_item *before)
{
	return before && before->state == MEDIA_WHOLE &&
	       before->head.object == m->head.object &&
	       strcmp(text_string(&before->name), text_string(&m->name)) == 0;
}

static void say_where(const struct shown *s, const struct media_item *m,
		      const struct media_item *before, struct show *to)
{
	cleanup_text struct text line = { 0 };
	uint32_t width, height;
	char size[32];
	struct err unheard;

	text_puts(&line, media_noun(m->head.kind));
	if (m->head.kind == MEDIA_PNG &&
	    picture_size(text_string(&m->bytes), m->bytes.length, &width, &height,
			 &unheard) == 0)
		text_printf(&line, ", %" PRIu32 " by %" PRIu32 " pixels", width, height);
	text_printf(&line, ", %s: ", units_say_size(m->head.bytes, size, sizeof(size)));
	if (m->saved.length)
		text_puts(&line, text_string(&m->saved));
	else if (m->unsaved.length)
		text_printf(&line, "not kept: %s", text_string(&m->unsaved));
	else if (!s->out && s->folder.fd < 0)
		text_puts(&line, "not kept; --out DIR would, or --transcript FILE");
	show_place(to, text_string(&line));
	if (!m->name.length || is_named(m, before))
		return;
	/* the jail's own word: it is folded behind the agent's mark, as a path is not */
	text_clear(&line);
	text_puts(&line, "    saved by the code as ");
	escape_name(&line, text_string(&m->name), m->name.length);
	show_note(to, text_string(&line));
}

static void say_missing(const struct media_item *m, struct show *to)
{
	cleanup_text struct text line = { 0 };
	char size[32];

	/* of what was left out the jail stops writing where it is too large */
	text_printf(&line, "%s of %s%s is not shown: ", media_noun(m->head.kind),
		    units_say_size(m->head.bytes, size, sizeof(size)),
		    m->state == MEDIA_ABSENT ? " or more" : "");
	if (m->state == MEDIA_ABSENT)
		text_puts(&line, "it is more than is left of --media-limit");
	else if (m->state == MEDIA_TOO_BIG)
		text_printf(&line, "%s is all that one step may show",
			    units_say_size(MEDIA_STEP_BYTES, size, sizeof(size)));
	else
		text_printf(&line, "it broke off behind %zu bytes", m->bytes.length);
	show_note(to, text_string(&line));
}

static void show_one(const struct shown *s, const struct media_item *m,
		     const struct media_item *before, struct allowance *left,
		     struct show *words, struct show *pictures)
{
	cleanup_text struct text line = { 0 };
	struct err why;

	if (m->state != MEDIA_WHOLE) {
		say_missing(m, words);
		return;
	}
	if (m->head.kind == MEDIA_PNG && s->way != TERMINAL_PATH &&
	    draw(s, m, left, pictures, &why) < 0) {
		text_printf(&line, "a picture is not shown: %s", why.text);
		show_note(words, text_string(&line));
	}
	say_where(s, m, before, words);
}

void shown_show(const struct shown *s, const struct media_list *l, struct show *words,
		struct show *pictures, bool said)
{
	struct allowance left = { SHOWN_PICTURES_MAX, SHOWN_PIXELS_MAX };

	if (said)
		show_said_by(words, &l->said);
	for (size_t i = 0; s->way != TERMINAL_NO && words->fd >= 0 && i < l->count; i++)
		if (!media_is_said(&l->items[i]))
			show_one(s, &l->items[i], i ? &l->items[i - 1] : NULL, &left,
				 words, pictures);
	if (l->nonsense)
		show_note(
			words,
			"what the step shows made no sense from there on, and is left out");
}
