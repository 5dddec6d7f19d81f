/* SPDX-License-Identifier: MIT */
/*
 * transcript.c - the record of a run: see transcript.h
 */
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "agent/base/memory.h"
#include "agent/base/path.h"
#include "agent/base/units.h"
#include "agent/record/record.h"
#include "agent/record/transcript.h"
#include "agent/record/transcripts.h"
#include "init/io.h"

static int make_path(struct transcript *t, const char *command, struct err *e)
{
	struct transcripts others;
	struct err why;
	char now[UNITS_UTC_BYTES];
	cleanup_text struct text name = { 0 };

	units_now_utc("%Y%m%dT%H%M%S", "", now);
	text_printf(&name, "transcripts/%s-%s-%d.jsonl", command, now, (int)getpid());

	cleanup_free char *path = path_of_state(text_string(&name), &why);

	if (!path)
		return err_say(
			e, why.errnum,
			"--transcript: %s; give --transcript FILE, or --transcript none to go without",
			why.text);
	text_puts(&t->path, path);
	if (transcripts_find(&others, &why) == 0) {
		t->others = others.count;
		t->others_bytes = others.bytes;
	}
	transcripts_free(&others);
	return 0;
}

/* the file's name, too, is to be there after a power cut */
static int sync_folder(const struct transcript *t, struct err *e)
{
	const char *path = text_string(&t->path);
	cleanup_free char *copy = memory_string(path);
	cleanup_fd int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || fsync(fd) < 0)
		return err_set(e, errno, "--transcript: the folder of %s", path);
	return 0;
}

/* as long as it is open; a file system may have no locks, and then none is removed */
static int lock(struct transcript *t, struct err *e)
{
	struct stat st;

	(void)flock(t->fd, LOCK_EX);
	if (fstat(t->fd, &st) == 0 && st.st_nlink)
		return 0;
	return err_say(e, ENOENT, "--transcript: %s was removed at once; try again",
		       text_string(&t->path));
}

int transcript_open(struct transcript *t, const char *given, const char *command,
		    struct stop *events, struct err *e)
{
	int r = 0;

	*t = (struct transcript){ .fd = -1, .chosen = !given, .events = events };
	chain_begin(&t->chain);
	if (given && strcmp(given, "none") == 0)
		return 0;
	if (given)
		text_puts(&t->path, given);
	else
		r = make_path(t, command, e);
	if (r < 0)
		return r;
	t->fd = open(text_string(&t->path),
		     O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_APPEND,
		     0600);
	if (t->fd < 0 && errno == EEXIST)
		return err_say(
			e, EEXIST,
			"--transcript: %s exists, and a transcript is never written over; give a new name",
			text_string(&t->path));
	/* whatever the umask, its owner must be able to read it */
	if (t->fd < 0 || fchmod(t->fd, 0600) < 0)
		return err_set(
			e, errno,
			"--transcript: %s: give another FILE, or none to go without",
			text_string(&t->path));
	r = lock(t, e);
	return r < 0 ? r : sync_folder(t, e);
}

bool transcript_wanted(const struct transcript *t)
{
	return t->fd >= 0 || t->events;
}

/* a line that is in the file, or would be; a signal that comes into it does not cut it */
static int print_event(struct transcript *t, const struct text *line, struct err *e)
{
	int r = 0;

	for (size_t at = 0, n; t->events && r == 0 && at < line->length; at += n) {
		n = line->length - at < PIPE_BUF ? line->length - at : PIPE_BUF;
		r = stop_write(t->events, STDOUT_FILENO, line->bytes + at, n);
		if (r == -EINTR)
			r = stop_write(t->events, STDOUT_FILENO, line->bytes + at, n);
	}
	if (r == 0)
		return 0;
	t->events = NULL;
	return r == -EINTR ? 0 : err_set(e, -r, "--events: cannot write to stdout");
}

static int write_line(struct transcript *t, const char *event, const cJSON *members,
		      struct err *e)
{
	cleanup_text struct text object = { .max = TRANSCRIPT_LINE_MAX };
	cleanup_text struct text inner = { 0 }; /* has room for what @object has */
	cleanup_text struct text line = { .max = TRANSCRIPT_LINE_MAX };
	struct chain next = t->chain;
	char now[UNITS_UTC_BYTES];
	int r = record_print(members, &object, e);

	if (r < 0)
		return r;
	units_now_utc("%Y-%m-%dT%H:%M:%S", ".", now);
	text_printf(&inner, "\"event\":\"%s\",\"time\":\"%s\"%s", event, now,
		    members->child ? "," : "");
	text_add(&inner, object.bytes + 1, object.length - 2);
	chain_seal(&next, text_string(&inner), &line);
	r = text_check(&line, "a line of the transcript", e);
	if (r < 0)
		return r;
	r = t->fd < 0 ? 0 : io_write_all(t->fd, line.bytes, line.length);
	if (r == 0 && t->fd >= 0 && fdatasync(t->fd) < 0)
		r = -errno;
	if (r < 0)
		return err_set(
			e, -r,
			"the run was stopped, as its transcript cannot be written: %s",
			text_string(&t->path));
	t->bytes += (off_t)line.length;
	t->chain = next;
	return print_event(t, &line, e);
}

static int add(struct transcript *t, const char *event, const cJSON *members,
	       struct err *e)
{
	if (t->failed)
		return err_say(e, ECANCELED,
			       "the transcript could not be written before");

	int r = write_line(t, event, members, e);

	if (r < 0) {
		/* half a line is of no use, and there is perhaps room to take it back */
		t->failed = true;
		if (t->fd >= 0)
			(void)!ftruncate(t->fd, t->bytes);
	}
	return r;
}

int transcript_add(struct transcript *t, const struct session *s, const char *event,
		   cJSON *members, struct err *e)
{
	int r = 0;

	if (t->chain.lines && s && s->opened && s->id != t->told) {
		cleanup_json cJSON *opened = record_session(s);

		r = add(t, "session", opened, e);
		t->told = s->id;
	}
	if (r == 0 && transcript_wanted(t))
		r = add(t, event, members, e);
	cJSON_Delete(members);
	return r;
}

void transcript_show(const struct transcript *t, struct show *show)
{
	uint64_t bytes = t->others_bytes + (uint64_t)t->bytes;

	if (t->fd < 0 || !t->chain.lines)
		return;
	show_place(show, "transcript: %s, %s, sha256 %s", text_string(&t->path),
		   units_say_things(t->chain.lines, "line").text, t->chain.digest);
	if (t->others < TRANSCRIPTS_MAX && bytes <= TRANSCRIPTS_BYTES_MAX)
		return;
	show_place(
		show,
		"%" PRIu64
		" transcripts hold %s; to remove old ones: stepjail-agent transcripts prune",
		t->others + 1, units_say_size(bytes).text);
}

void transcript_close(struct transcript *t)
{
	/* nothing ran: there is nothing to keep */
	if (t->fd >= 0 && !t->chain.lines)
		(void)unlink(text_string(&t->path));
	io_close_fd(&t->fd);
	text_free(&t->path);
}
