/* SPDX-License-Identifier: MIT */
/*
 * shown_show.c - a person is told what a step shows, and where it is: see shown.h
 */
#include <inttypes.h>
#include <string.h>

#include "agent/base/escape.h"
#include "agent/base/units.h"
#include "agent/record/shown.h"

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

	text_puts(&line, media_noun(m->head.kind));
	if (media_png_size(m, &width, &height))
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

void shown_show(const struct shown *s, const struct media_list *l, struct show *to,
		bool said)
{
	if (said)
		show_said_by(to, &l->said);
	for (size_t i = 0; to->fd >= 0 && i < l->count; i++) {
		const struct media_item *m = &l->items[i];

		if (media_is_said(m))
			continue;
		if (m->state == MEDIA_WHOLE)
			say_where(s, m, i ? m - 1 : NULL, to);
		else
			say_missing(m, to);
	}
	if (l->nonsense)
		show_note(
			to,
			"what the step shows made no sense from there on, and is left out");
}
