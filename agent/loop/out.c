/* SPDX-License-Identifier: MIT */
/*
 * out.c - --out: the folder, and what is said of it: see out.h. How it is filled is in
 * out_collect.c.
 */

#include "agent/base/units.h"
#include "agent/loop/out.h"
#include "init/io.h"

#define ROW(kind, field) OPT_ROW(TASK, kind, struct out_options, field)

const struct opt out_opts[] = {
	{ "out", "DIR", NULL, ROW(TEXT, folder),
	  "At the end, copy the files in the jail's /work/out to this folder, which must be new or empty. What steps show goes to shown/ in it.",
	  .common = true },
	{ "out-hidden", NULL, NULL, ROW(FLAG, hidden),
	  "Copy names that begin with a dot, too. Without this they are left out, since some programs obey such files, as git does .git/config.",
	  .with = { "out" } },
	{ "out-limit", "SIZE", "256M", ROW(SIZE, limit_bytes),
	  "Copy at most this many bytes of files.", .min = 1, .max = (uint64_t)1 << 50,
	  .with = { "out" } },
	{ .name = NULL },
};

int out_mark(struct out *o, struct jail_binds *b, struct err *e)
{
	o->marker.path = OUT_FOLDER "/" OUT_MARKER;
	o->marker.fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (o->marker.fd < 0)
		return err_set(e, errno, "/dev/null");
	b->puts[b->put_count++] = o->marker;
	return 0;
}

int out_open(struct out *o, const struct out_options *options, struct jail_binds *b,
	     struct confine_policy *policy, struct err *e)
{
	o->limit_bytes = options->limit_bytes;
	o->hidden = options->hidden;
	if (!options->folder)
		return 0;

	int r = out_mark(o, b, e);

	if (r == 0)
		r = folder_open(&o->folder, options->folder, "--out", true, e);
	if (r == 0)
		r = confine_add_path(policy, text_string(&o->folder.path),
				     CONFINE_COLLECT | CONFINE_KEEP, e);
	/* it was empty: what is named and removed there is what this run made */
	policy->needs |= CONFINE_COLLECT | CONFINE_KEEP;
	return r;
}

void out_skip(struct out *o, const char *why)
{
	text_clear(&o->why);
	text_puts(&o->why, why);
}

void out_record(const struct out *o, cJSON *object)
{
	if (o->folder.fd < 0)
		return;
	json_add(object, "out", &o->folder.path);
	if (o->why.length)
		json_add(object, "files_lost", &o->why);
	if (!o->files)
		return;
	json_add(object, "files", cJSON_Duplicate(o->files, true));
	json_add(object, "files_left_out", cJSON_Duplicate(o->left, true));
	json_add(object, "files_left_out_count", o->left_count);
	if (o->unwritten)
		json_add(object, "files_unwritten", o->unwritten);
}

int out_status(const struct out *o, struct stop *stop)
{
	cleanup_text struct text line = { 0 };

	if (!o->unwritten)
		return 0;
	text_printf(&line, "--out: %s", text_string(&o->failed));
	if (o->unwritten > 1)
		text_printf(&line, ", nor could %" PRIu64 " more", o->unwritten - 1);
	stop_say(stop, text_string(&line));
	return OUT_STATUS;
}

void out_show(const struct out *o, struct show *show)
{
	cleanup_text struct text line = { 0 };

	if (o->folder.fd < 0)
		return;
	for (const cJSON *one = json_first(o->left); one; one = one->next) {
		const char *name = json_text(one, "name");

		text_clear(&line);
		escape_name(&line, name, strlen(name));
		show_note(show, "left out of /work/out: %s: %s", text_string(&line),
			  json_text(one, "why"));
	}
	if (o->left_count > OUT_LEFT_MAX)
		show_note(show, "left out of /work/out: %" PRIu64 " more",
			  o->left_count - OUT_LEFT_MAX);
	text_clear(&line);
	if (o->files)
		text_printf(&line, "files: %d from /work/out, %s, in %s",
			    cJSON_GetArraySize(o->files), units_say_size(o->bytes).text,
			    text_string(&o->folder.path));
	else
		text_printf(&line, "files: /work/out was not copied: %s",
			    text_string(&o->why));
	show_place(show, "%s", text_string(&line));
	if (o->files && o->why.length)
		show_note(show, "not all of /work/out was copied: %s",
			  text_string(&o->why));
}

void out_close(struct out *o)
{
	folder_close(&o->folder);
	io_close_fd(&o->marker.fd);
	cJSON_Delete(o->files);
	cJSON_Delete(o->left);
	text_free(&o->why);
	text_free(&o->failed);
}
