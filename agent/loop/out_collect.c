/* SPDX-License-Identifier: MIT */
/*
 * out_collect.c - /work/out, folder by folder, into one of the user's: see out.h
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/base/digest.h"
#include "agent/base/escape.h"
#include "agent/base/folder.h"
#include "agent/base/json.h"
#include "agent/base/path.h"
#include "agent/base/utf8.h"
#include "agent/loop/out.h"
#include "agent/record/record.h"
#include "init/io.h"

#define NAME_BYTES 255   /* as Linux has it */
#define SETTLE_TRIES 100 /* for a step that is killed to be gone, on a busy host, too */
#define SETTLE_MS 100

struct walk {
	struct out *o;
	struct session *s;
};

/* a file on its way */
struct copy {
	struct out *o;
	int folder; /* it is made in, where that is below the user's own; else -1 */
	struct folder_file file;
	uint64_t bytes;
	struct sha256_ctx sum;
	int failed; /* errno of our own write */
};

static void leave_out(struct out *o, const char *path, const char *why)
{
	cleanup_text struct text name = { 0 };
	cJSON *one;

	if (++o->left_count > OUT_LEFT_MAX)
		return;
	one = cJSON_CreateObject();
	/* behind "out/", escaped: no byte of it is but for the eye */
	path += strlen(OUT_FOLDER);
	path += *path == '/';
	escape_line(&name, path, strlen(path));
	(void)cJSON_AddStringToObject(one, "name", *path ? text_string(&name) : ".");
	record_string(one, "why", why, strlen(why));
	(void)cJSON_AddItemToArray(o->left, one);
}

/* NULL for a name that may be a file's here, else what is wrong with it */
static const char *wrong_name(const char *name, bool hidden)
{
	cleanup_text struct text shown = { 0 };
	size_t length = strlen(name);

	if (!length || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
	    strchr(name, '/'))
		return "it is not the name of a file";
	if (length > NAME_BYTES)
		return "its name is too long";
	if (name[0] == '.' && !hidden)
		return "its name begins with a dot (--out-hidden copies those, too)";
	if (!utf8_valid(name, length))
		return "its name is not UTF-8";
	escape_line(&shown, name, length);
	if (strchr(name, '\t') || strcmp(text_string(&shown), name) != 0)
		return "its name holds control or invisible characters";
	return NULL;
}

/* a request that failed: stepjail's words may quote the jail's */
static void leave_refused(struct out *o, const char *path, int r, const struct err *why)
{
	cleanup_text struct text words = { 0 };

	if (r == -EPERM) {
		text_puts(&words, "stepjail says: ");
		escape_name(&words, why->text, strlen(why->text));
	}
	leave_out(o, path, r == -EPERM ? text_string(&words) : why->text);
}

static int take_bytes(void *arg, const char *bytes, size_t length, struct err *e)
{
	struct copy *c = arg;
	int r;

	if (length > c->o->limit_bytes - c->o->came - c->bytes)
		return err_say(e, EFBIG, "--out-limit");
	r = io_write_all(c->file.fd, bytes, length);
	if (r < 0) {
		c->failed = -r;
		return err_set(e, -r, "it cannot be written");
	}
	sha256_update(&c->sum, length, (const uint8_t *)bytes);
	c->bytes += length;
	return 0;
}

/* in the user's folder of that path, made with all above it; 0 or -errno */
static int begin_file(struct copy *c, const char *path)
{
	int folder = c->o->folder.fd;
	const char *end;

	for (path += strlen(OUT_FOLDER) + 1; (end = strchr(path, '/')); path = end + 1) {
		char name[NAME_BYTES + 1];

		(void)snprintf(name, sizeof(name), "%.*s", (int)(end - path), path);
		folder = folder_enter(folder, name);
		io_close_fd(&c->folder);
		c->folder = folder;
		if (folder < 0)
			return folder;
	}
	return folder_begin(&c->file, folder, 0666);
}

/* what ends it all: the session, or the user's wish; a refusal is of one file */
static bool is_end(int r)
{
	return r == -ENOTCONN || r == -EINTR || r == -ETIMEDOUT;
}

static void add_file(struct out *o, const char *path, struct copy *c)
{
	cJSON *one = json_append(o->files);
	char hex[DIGEST_HEX];

	digest_hex(&c->sum, hex);
	path += strlen(OUT_FOLDER) + 1;
	record_string(one, "name", path, strlen(path));
	(void)cJSON_AddNumberToObject(one, "bytes", (double)c->bytes);
	(void)cJSON_AddStringToObject(one, "sha256", hex);
	o->count++;
	o->name_bytes += strlen(path);
}

/* the user's disk or folder did not take it: that is no fault of the jail's */
static void fail_file(struct out *o, const char *path, int errnum)
{
	cleanup_text struct text why = { 0 };

	text_printf(&why, "it could not be written: %s", strerror(errnum));
	leave_out(o, path, text_string(&why));
	if (o->unwritten++ > 0)
		return;
	path += strlen(OUT_FOLDER) + 1;
	escape_name(&o->failed, path, strlen(path));
	text_printf(&o->failed, " could not be written to %s: %s",
		    text_string(&o->folder.path), strerror(errnum));
}

/* all of its bytes, under a name that nobody looks at; 0 or -errno of what failed */
static int take_file(struct session *s, const char *path, struct copy *c, struct err *e)
{
	int r = begin_file(c, path);

	if (r < 0) {
		c->failed = -r;
		return r;
	}
	sha256_init(&c->sum);
	r = session_get(s, SESSION_FILE, path, take_bytes, c, e);
	c->o->came += c->bytes;
	if (r < 0)
		return r;
	r = folder_keep(&c->file, path_last(path));
	c->failed = -r;
	return r;
}

/* 0, or -errno where nothing further is copied */
static int leave_file(struct out *o, const char *path, const struct copy *c, int r,
		      struct err *e)
{
	if (c->failed == EEXIST)
		leave_out(o, path, "a file of that name is there already");
	else if (c->failed == ENOTDIR || c->failed == ELOOP)
		leave_out(o, path, strerror(c->failed));
	else if (c->failed)
		fail_file(o, path, c->failed);
	else
		leave_refused(o, path, r, e);
	if (c->failed == ENOSPC || c->failed == EDQUOT)
		return err_set(e, c->failed, "%s", text_string(&o->folder.path));
	return is_end(r) ? r : 0;
}

static int copy_file(struct walk *w, const char *path, uint64_t size, struct err *e)
{
	struct out *o = w->o;
	struct copy c = { .o = o, .folder = -1, .file.fd = -1 };
	int r;

	if (size > o->limit_bytes - o->came) {
		(void)err_say(e, EFBIG,
			      "--out-limit: it has %" PRIu64 " bytes, and %" PRIu64
			      " are left",
			      size, o->limit_bytes - o->came);
		leave_out(o, path, e->text);
		return 0;
	}
	r = take_file(w->s, path, &c, e);
	folder_drop(&c.file);
	io_close_fd(&c.folder);
	if (r < 0)
		return leave_file(o, path, &c, r, e);
	o->bytes += c.bytes;
	add_file(o, path, &c);
	return 0;
}

/* NULL for what is copied or gone into, else what is wrong with it */
static const char *wrong_entry(const struct out *o, unsigned int depth,
			       const struct session_entry *entry)
{
	const char *wrong = wrong_name(entry->name, o->hidden);

	if (!wrong && entry->kind == 'd' && depth == OUT_DEPTH_MAX)
		return "folders are nested too deep";
	if (wrong || entry->kind == 'd' || entry->kind == '-')
		return wrong;
	return entry->kind == 'l' ? "it is a link" : "it is neither a file nor a folder";
}

static int walk(struct walk *w, const char *folder, unsigned int depth, struct err *e);

static int take_entry(struct walk *w, const char *folder, unsigned int depth,
		      const struct session_entry *entry, struct err *e)
{
	cleanup_text struct text path = { 0 };
	struct out *o = w->o;
	const char *wrong = wrong_entry(o, depth, entry);

	if (o->count + o->left_count + o->folders >= OUT_FILES_MAX)
		return err_say(e, E2BIG, "it has more than %u files and folders",
			       OUT_FILES_MAX);
	if (o->name_bytes > OUT_NAMES_BYTES)
		return err_say(e, E2BIG, "its names are longer than %u MiB",
			       OUT_NAMES_BYTES >> 20);
	if (!depth && entry->kind == '-' && entry->size_bytes == 0 &&
	    strcmp(entry->name, OUT_MARKER) == 0)
		return 0;
	text_printf(&path, "%s/%s", folder, entry->name);
	if (path.failed)
		return text_check(&path, "a path", e);
	if (wrong) {
		leave_out(o, text_string(&path), wrong);
		return 0;
	}
	if (entry->kind == '-')
		return copy_file(w, text_string(&path), entry->size_bytes, e);
	o->folders++;
	return walk(w, text_string(&path), depth + 1, e);
}

static int walk(struct walk *w, const char *folder, unsigned int depth, struct err *e)
{
	cleanup_text struct text list = { .max = OUT_LIST_BYTES };
	struct session_entry entry;
	size_t at = 0;
	int r = session_get_text(w->s, SESSION_FOLDER, folder, &list, e);

	if (is_end(r))
		return r;
	if (r < 0) {
		leave_refused(w->o, folder, r, e);
		return 0;
	}
	while (r == 0 && (r = session_entry_next(&list, &at, &entry)) > 0)
		r = take_entry(w, folder, depth, &entry, e);
	return r == -EBADMSG ? err_say(e, ENOTCONN, "stepjail's list of files is invalid")
			     : r;
}

/* a step that the task's end came to is still running: files wait for its end */
static int settle(struct session *s, struct err *e)
{
	int r = -EBUSY;

	session_kill(s);
	for (int i = 0; r != 0 && i < SETTLE_TRIES; i++) {
		cleanup_text struct text list = { .max = OUT_LIST_BYTES };

		r = session_get_text(s, SESSION_FOLDER, ".", &list, e);
		if (is_end(r))
			return r;
		if (r < 0 && stop_sleep(s->serve.stop, SETTLE_MS) < 0)
			return err_say(e, EINTR, "stopped by a signal");
	}
	return r;
}

int out_collect(struct out *o, struct session *s, bool ended, struct err *e)
{
	struct walk w = { o, s };
	struct err why = { 0 };
	int r = 0;

	if (o->folder.fd < 0 || o->why.length)
		return 0;
	o->files = cJSON_CreateArray();
	o->left = cJSON_CreateArray();
	if (!s->open) {
		out_skip(o, "the session is gone");
		return 0;
	}
	if (ended)
		r = settle(s, &why);
	if (r == 0) {
		o->collected = true;
		r = walk(&w, OUT_FOLDER, 0, &why);
	}
	if (r < 0)
		out_skip(o, why.text);
	if (r == -EINTR)
		*e = why;
	return r == -EINTR ? r : 0;
}
