/* SPDX-License-Identifier: MIT */
/*
 * shown.c - what a step shows, kept in files: see shown.h
 */
#include <sys/stat.h>

#include "agent/base/units.h"
#include "agent/record/shown.h"
#include "init/io.h"

#define SHOWN "shown"

int shown_plan(struct shown *s, const struct folder *out, const struct transcript *t,
	       struct confine_policy *policy, struct err *e)
{
	cleanup_text struct text path = { 0 };

	*s = SHOWN_NONE;
	s->out = out && out->fd >= 0 ? out : NULL;
	if (s->out || t->fd < 0)
		return 0;
	/* nobody asked for it by name: only where the agent can be kept to it */
	int r = confine_landlock_abi(e);

	if (r <= 0)
		return r;
	text_printf(&path, "%s." SHOWN, text_string(&t->path));
	/* closed to others, as the transcript is; one that is there stays as it is */
	(void)mkdir(text_string(&path), 0700);
	r = folder_open(&s->folder, text_string(&path), "--transcript", false, e);
	if (r == 0)
		r = confine_add_path(policy, text_string(&s->folder.path), CONFINE_CREATE,
				     e);
	policy->needs |= CONFINE_COLLECT;
	return r;
}

void shown_end(struct shown *s)
{
	/* not if this process is confined: then the broker does it */
	if (s->folder.fd >= 0)
		(void)rmdir(text_string(&s->folder.path));
	folder_close(&s->folder);
}

/* beside a transcript the agent may remove nothing: what was there is not its own */
static int write_begun(int folder, const char *name, const struct text *bytes)
{
	cleanup_fd int fd = folder_make(folder, name, 0600);

	return fd < 0 ? fd : io_write_all(fd, text_string(bytes), bytes->length);
}

static int write_whole(int folder, const char *name, const struct text *bytes)
{
	struct folder_file f;
	int r = folder_begin(&f, folder, 0600);

	if (r == 0)
		r = io_write_all(f.fd, text_string(bytes), bytes->length);
	if (r == 0)
		r = folder_keep(&f, name);
	folder_drop(&f);
	return r;
}

static void save(const struct shown *s, int folder, uint64_t step, struct media_item *m)
{
	cleanup_text struct text name = { 0 };
	const struct text *path = s->out ? &s->out->path : &s->folder.path;

	text_printf(&name, "step-%" PRIu64 "-%" PRIu32 ".%s", step, m->head.object + 1,
		    media_forms[m->head.kind].ending);

	int r = folder < 0 ? folder
		: s->out   ? write_whole(folder, text_string(&name), &m->bytes)
			   : write_begun(folder, text_string(&name), &m->bytes);

	if (r == 0)
		text_printf(&m->saved, "%s%s/%s", text_string(path),
			    s->out ? "/" SHOWN : "", text_string(&name));
	else
		text_printf(&m->unsaved, "%s in %s: %s", text_string(&name),
			    text_string(path), strerror(-r));
}

void shown_save(const struct shown *s, uint64_t step, struct media_list *l)
{
	cleanup_fd int inner = -1;
	int folder = s->folder.fd;

	for (size_t i = 0; i < l->count; i++) {
		struct media_item *m = &l->items[i];

		if (m->state != MEDIA_WHOLE || media_is_said(m))
			continue;
		if (s->out && inner < 0) {
			/* made when there is something to put into it */
			inner = folder_enter(s->out->fd, SHOWN);
			folder = inner;
		}
		if (s->out || folder >= 0)
			save(s, folder, step, m);
	}
}

/* the name is its object's: the form before it has said it */
static bool is_named(const struct media_item *m, const struct media_item *before)
{
	return before && before->state == MEDIA_WHOLE &&
	       before->head.object == m->head.object &&
	       strcmp(text_string(&before->name), text_string(&m->name)) == 0;
}

static void say_where(const struct media_item *m, const struct media_item *before,
		      struct show *to)
{
	cleanup_text struct text line = { 0 };
	uint32_t width, height;

	text_puts(&line, media_forms[m->head.kind].noun);
	if (media_png_size(m, &width, &height))
		text_printf(&line, ", %" PRIu32 " by %" PRIu32 " pixels", width, height);
	text_printf(&line, ", %s: ", units_say_size(m->head.bytes).text);
	if (m->saved.length)
		text_puts(&line, text_string(&m->saved));
	else if (m->unsaved.length)
		text_printf(&line, "not kept: %s", text_string(&m->unsaved));
	else
		text_puts(&line,
			  "not kept (--out DIR or --transcript FILE would keep it)");
	show_place(to, "%s", text_string(&line));
	if (!m->name.length || is_named(m, before))
		return;
	/* the jail's own word: it is folded behind the agent's mark, as a path is not */
	text_clear(&line);
	escape_name(&line, text_string(&m->name), m->name.length);
	show_note(to, "    saved by the code as %s", text_string(&line));
}

static void say_missing(const struct media_item *m, struct show *to)
{
	cleanup_text struct text line = { 0 };

	/* of what was left out the jail stops writing where it is too large */
	text_printf(&line, "%s of %s%s is not shown: ", media_forms[m->head.kind].noun,
		    units_say_size(m->head.bytes).text,
		    m->state == MEDIA_ABSENT ? " or more" : "");
	if (m->state == MEDIA_ABSENT)
		text_puts(&line, "it is larger than the rest of --media-limit");
	else if (m->state == MEDIA_TOO_BIG)
		text_printf(&line, "%s is all that one step may show",
			    units_say_size(MEDIA_STEP_BYTES).text);
	else
		text_printf(&line, "it was cut off after %zu bytes", m->bytes.length);
	show_note(to, "%s", text_string(&line));
}

void shown_show(const struct media_list *l, struct show *to)
{
	for (size_t i = 0; i < l->count; i++) {
		const struct media_item *m = &l->items[i];

		if (m->state != MEDIA_WHOLE)
			say_missing(m, to);
		else if (!media_is_said(m))
			say_where(m, i ? m - 1 : NULL, to);
	}
	if (l->nonsense)
		show_note(to,
			  "the rest of what the step shows is invalid, and is left out");
}
