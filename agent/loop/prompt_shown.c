/* SPDX-License-Identifier: MIT */
/*
 * prompt_shown.c - what the model is told of what its step shows: see prompt.h
 *
 * Bytes of a picture or a table are not. A name that the code gave is in the agent's own
 * line only where it can be nothing but a name; else it is behind the mark, like all that
 * comes out of a jail.
 */
#include <inttypes.h>
#include <string.h>

#include "agent/base/escape.h"
#include "agent/loop/prompt.h"

#define PLAIN_NAME_BYTES 64

static bool is_plain(const struct text *name)
{
	return name->length <= PLAIN_NAME_BYTES &&
	       strspn(text_string(name),
		      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-/") ==
		       name->length;
}

static void add_name(const struct text *name, struct text *out)
{
	cleanup_text struct text theirs = { 0 };

	if (!name->length) {
		text_puts(out, ".\n");
	} else if (is_plain(name)) {
		text_printf(out, ", saved by the code as %s.\n", text_string(name));
	} else {
		escape_line(&theirs, text_string(name), name->length);
		text_puts(out, ", saved by the code as:\n" ESCAPE_MARK);
		escape_turns(out, text_string(&theirs), theirs.length);
		text_puts(out, "\n");
	}
}

static void add_item(const struct media_item *m, struct text *out)
{
	const char *noun = media_forms[m->head.kind].noun;
	uint32_t width, height;

	if (m->state == MEDIA_ABSENT || m->state == MEDIA_TOO_BIG) {
		text_printf(
			out,
			"Not shown: %s of %" PRIu64
			" bytes, which is more than a step may show. Make it smaller.\n",
			noun, m->head.bytes);
	} else if (m->state == MEDIA_BROKEN) {
		text_printf(out, "Not shown: %s that was cut off.\n", noun);
	} else if (m->head.kind != MEDIA_PNG) {
		text_printf(out, "Shown: %s, %" PRIu64 " bytes", noun, m->head.bytes);
		add_name(&m->name, out);
	} else if (media_png_size(m, &width, &height)) {
		text_printf(out, "Shown: %s, %" PRIu32 " by %" PRIu32 " pixels", noun,
			    width, height);
		add_name(&m->name, out);
	} else {
		text_printf(out, "Not shown: %s that is not a PNG.\n", noun);
	}
}

/* one form speaks for an object: the picture, or what has no text to it */
static bool speaks(const struct media_list *l, const struct media_item *m)
{
	bool pictured = media_find(l, m->head.object, MEDIA_PNG) != NULL;

	if (m->state != MEDIA_WHOLE || m->head.kind == MEDIA_PNG)
		return true;
	if (m->head.kind == MEDIA_SVG)
		return !pictured;
	return !pictured && m->head.from != MEDIA_FROM_RESULT &&
	       !media_find(l, m->head.object, MEDIA_TEXT);
}

void prompt_shown(const struct media_list *l, struct text *out)
{
	if (l->said.total) {
		cleanup_text struct text theirs = { 0 };

		text_puts(out, "Shown:\n");
		clip_show(&l->said, ESCAPE_MARK, &theirs);
		escape_turns(out, text_string(&theirs), theirs.length);
	}
	for (size_t i = 0; i < l->count; i++)
		if (!media_is_said(&l->items[i]) && speaks(l, &l->items[i]))
			add_item(&l->items[i], out);
	if (l->nonsense)
		text_puts(out,
			  "What was shown after that is invalid, and was left out.\n");
}
