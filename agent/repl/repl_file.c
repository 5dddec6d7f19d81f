/* SPDX-License-Identifier: MIT */
/*
 * repl_file.c - the prompt's commands about files. See repl.h
 */
#include <time.h>

#include "agent/base/file.h"
#include "agent/base/path.h"
#include "agent/record/inputs.h"
#include "agent/repl/repl.h"
#include "init/io.h"

#define LIST_MAX_BYTES ((size_t)16 << 20)

/* a refusal has the cause alone: a person wants to know of which file */
static int refused(int s, const char *name, struct err *e)
{
	return s == -EPERM ? err_within(e, "%s: ", name) : s;
}

/* the name may hold whatever it likes */
static void show_entry(struct repl *r, const struct session_entry *entry)
{
	const time_t changed = (time_t)entry->changed_s;
	cleanup_text struct text words = { 0 };
	struct tm tm = { 0 };
	char when[32] = "";

	if (localtime_r(&changed, &tm))
		(void)strftime(when, sizeof(when), "%F %R", &tm);
	text_printf(&words, "%-6s%12" PRIu64 "  %-16s  ",
		    entry->kind == '-'   ? "file"
		    : entry->kind == 'd' ? "folder"
		    : entry->kind == 'l' ? "link"
					 : "other",
		    entry->size_bytes, when);
	escape_name(&words, entry->name, strlen(entry->name));
	show_note(&r->show, "%s", text_string(&words));
}

int repl_files(struct repl *r, char *const *words, struct err *e)
{
	cleanup_text struct text list = { .max = LIST_MAX_BYTES };
	const char *folder = words[0] ? words[0] : ".";
	int s = session_get_text(&r->session, SESSION_FOLDER, folder, &list, e);
	int more = 0;
	struct session_entry entry;

	if (s == 0)
		show_note(&r->show, "%-6s%12s  %-16s  %s", "kind", "bytes", "changed",
			  "name");
	for (size_t at = 0;
	     s == 0 && (more = session_entry_next(&list, &at, &entry)) > 0;)
		show_entry(r, &entry);
	if (more < 0)
		return err_say(e, EBADMSG, "stepjail's list of files is invalid");
	return refused(s, folder, e);
}

int repl_put(struct repl *r, char *const *words, struct err *e)
{
	cleanup_fd int fd = file_open(words[0], "", e);
	const char *name = words[1] ? words[1] : path_last(words[0]);
	int s = fd < 0 ? fd : session_put(&r->session, fd, name, e);

	if (s < 0)
		return refused(s, name, e);
	show_note(&r->show, "written, below /work");

	if (r->transcript.fd < 0)
		return 0;

	cJSON *file = cJSON_CreateObject();

	s = inputs_file(file, words[0], name, -1, r->show.stop, e);
	if (s == 0)
		return repl_record(r, "put", r->session.branch, r->session.state, file,
				   e);
	cJSON_Delete(file);
	return s;
}

struct download {
	int fd; /* -1 until there is something to write */
	const char *path;
};

/* nothing of the user's is written over, and no link of a name is followed */
static int make_file(struct download *d, struct err *e)
{
	if (d->fd < 0)
		d->fd = open(d->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (d->fd >= 0)
		return 0;

	if (errno == EACCES)
		return err_say(
			e, EACCES,
			"%s: permission denied: the agent makes files below the folder that it was started in, and with no rights of root's",
			d->path);
	return err_set(e, errno, "%s%s", d->path, errno == ENOENT ? ": its folder" : "");
}

static int take_bytes(void *arg, const char *bytes, size_t length, struct err *e)
{
	struct download *d = arg;
	int s = make_file(d, e);

	if (s < 0)
		return s;
	s = io_write_all(d->fd, bytes, length);
	return s < 0 ? err_set(e, -s, "%s", d->path) : 0;
}

int repl_get(struct repl *r, char *const *words, struct err *e)
{
	const char *path = words[1] ? words[1] : path_last(words[0]);
	struct download d = { -1, path };
	int s = access(path, F_OK) == 0
			? err_set(e, EEXIST, "%s", path)
			: refused(session_get(&r->session, SESSION_FILE, words[0],
					      take_bytes, &d, e),
				  words[0], e);

	if (s == 0)
		s = make_file(&d, e); /* an empty one has no bytes */

	bool begun = d.fd >= 0;

	/* some file systems tell only now that there was no room */
	if (begun && close(d.fd) < 0 && s == 0)
		s = err_set(e, errno, "%s", path);
	/* what was made cannot be removed again: the agent may not */
	return s < 0 && begun ? err_within(e, "%s holds only the beginning: ", path) : s;
}

int repl_show(struct repl *r, char *const *words, struct err *e)
{
	const struct media_list *l = &r->session.media;

	(void)words;
	if (!l->count)
		return err_say(e, ENOENT, "the last step showed nothing");
	show_said_by(&r->show, &l->said);
	shown_show(l, &r->show);
	return 0;
}
