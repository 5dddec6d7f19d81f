/* SPDX-License-Identifier: MIT */
/*
 * shown.c - what a step shows, kept in files: see shown.h. How it is put before the user
 * is in shown_show.c.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/record/record.h"
#include "agent/record/shown.h"
#include "init/io.h"

#define SHOWN "shown"

static const char *const endings[MEDIA_KINDS] = {
	[MEDIA_TEXT] = "txt", [MEDIA_HTML] = "html", [MEDIA_JSON] = "json",
	[MEDIA_PNG] = "png",  [MEDIA_SVG] = "svg",
};

/* TRANSCRIPT.shown/; of a transcript that the agent named, one folder for all of them, in
 * which its name begins each file's: it would be left empty by most runs */
static void name_folder(const struct transcript *t, struct text *path,
			struct text *prefix)
{
	const char *whole = text_string(&t->path);
	const char *slash = strrchr(whole, '/');
	const char *name = slash ? slash + 1 : whole;
	const char *dot = strrchr(name, '.');

	if (!t->chosen) {
		text_printf(path, "%s." SHOWN, whole);
		return;
	}
	text_add(path, whole, (size_t)(name - whole));
	text_puts(path, SHOWN);
	text_add(prefix, name, dot ? (size_t)(dot - name) : strlen(name));
	text_puts(prefix, "-");
}

int shown_plan(struct shown *s, enum terminal_way asked, bool terminal,
	       const struct folder *out, const struct transcript *t,
	       struct confine_policy *policy, struct err *e)
{
	cleanup_text struct text path = { 0 };
	int r;

	*s = SHOWN_NONE;
	s->way = terminal_way(asked, terminal);
	s->out = out && out->fd >= 0 ? out : NULL;
	if (s->out || t->fd < 0)
		return 0;
	/* nobody asked for it by name: only where the agent can be kept to it */
	r = confine_landlock_abi(e);
	if (r <= 0)
		return r;
	name_folder(t, &path, &s->prefix);
	r = text_check(&path, "the transcript's name", e);
	if (r == 0)
		r = folder_open(&s->folder, text_string(&path), "--transcript", false, e);
	if (r == 0)
		r = confine_add_path(policy, text_string(&s->folder.path), CONFINE_CREATE,
				     e);
	policy->needs |= CONFINE_COLLECT;
	return r;
}

void shown_end(struct shown *s)
{
	folder_close(&s->folder);
	text_free(&s->prefix);
}

static int write_file(int folder, const char *name, const struct text *bytes)
{
	cleanup_fd int fd = folder_make(folder, name);

	return fd < 0 ? fd : io_write_all(fd, text_string(bytes), bytes->length);
}

static void save(const struct shown *s, int folder, uint64_t step, struct media_item *m)
{
	cleanup_text struct text name = { 0 };
	const struct text *path = s->out ? &s->out->path : &s->folder.path;
	int r;

	text_printf(&name, "%sstep-%" PRIu64 "-%" PRIu32 ".%s", text_string(&s->prefix),
		    step, m->head.object + 1, endings[m->head.kind]);
	r = folder < 0    ? folder
	    : name.failed ? -name.failed
			  : write_file(folder, text_string(&name), &m->bytes);
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
