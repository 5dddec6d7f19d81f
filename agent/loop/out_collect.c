/* SPDX-License-Identifier: MIT */
/*
 * out_collect.c - /work/out, folder by folder, into one of the user's: see out.h
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/digest.h"
#include "agent/base/escape.h"
#include "agent/base/folder.h"
#include "agent/base/json.h"
#include "agent/base/units.h"
#include "agent/base/utf8.h"
#include "agent/loop/out.h"
#include "agent/record/record.h"
#include "agent/session/session.h"
#include "init/io.h"

#define NAME_BYTES 255   /* as Linux has it */
#define SETTLE_TRIES 100 /* for a step that is killed to be gone, on a busy host, too */
#define SETTLE_MS 100

/* a folder of the jail's, on the way down */
struct level {
	struct out *o;
	struct session *s;
	const char *path; /* below /work */
	int folder; /* of the user's, O_PATH; -1 until there is something to put in */
	struct level *above;
	const char *name;
	unsigned int depth;
};

/* a file on its way */
struct copy {
	struct out *o;
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
	size_t left = strlen(name);
	const unsigned char *at = (const unsigned char *)name;

	if (!left || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
	    strchr(name, '/'))
		return "it is no name of a file";
	if (left > NAME_BYTES)
		return "its name is too long";
	if (name[0] == '.' && !hidden)
		return "its name begins with a dot (--out-hidden takes those, too)";
	while (left) {
		uint32_t point;
		size_t n = utf8_decode(at, left, &point);

		if (!n)
			return "its name is not UTF-8";
		if (escape_hides(point) || point == '\t')
			return "its name holds control or invisible characters";
		at += n;
		left -= n;
	}
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

/* the user's folder of this level, made with all above it; fd or -errno */
static int reach(struct level *l)
{
	if (l->folder >= 0)
		return l->folder;

	int above = reach(l->above);

	l->folder = above < 0 ? above : folder_enter(above, l->name);
	return l->folder;
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
static int take_file(struct level *l, const char *path, struct copy *c, struct err *why)
{
	int r = reach(l);

	if (r >= 0)
		r = folder_begin(&c->file, r, 0666);
	if (r < 0) {
		c->failed = -r;
		return r;
	}
	sha256_init(&c->sum);
	r = session_get(l->s, SESSION_FILE, path, take_bytes, c, why);
	l->o->came += c->bytes;
	return r;
}

static int copy_file(struct level *l, const char *path, const char *name, uint64_t size,
		     struct err *e)
{
	struct out *o = l->o;
	struct copy c = { .o = o, .file.fd = -1 };
	struct err why = { 0 };
	int r;

	if (size > o->limit_bytes - o->came) {
		(void)err_say(&why, EFBIG,
			      "--out-limit: it has %" PRIu64 " bytes, and %" PRIu64
			      " are left",
			      size, o->limit_bytes - o->came);
		leave_out(o, path, why.text);
		return 0;
	}
	r = take_file(l, path, &c, &why);
	if (r == 0) {
		r = folder_keep(&c.file, name);
		c.failed = -r;
	}
	folder_drop(&c.file);
	if (r == 0) {
		o->bytes += c.bytes;
		add_file(o, path, &c);
		return 0;
	}
	if (c.failed == EEXIST || c.failed == ENOTDIR || c.failed == ELOOP)
		leave_out(o, path,
			  c.failed == EEXIST ? "a file of that name is there already"
					     : strerror(c.failed));
	else if (c.failed)
		fail_file(o, path, c.failed);
	else
		leave_refused(o, path, r, &why);
	if (c.failed == ENOSPC || c.failed == EDQUOT)
		return err_set(e, c.failed, "%s", text_string(&o->folder.path));
	if (!is_end(r))
		return 0;
	*e = why;
	return r;
}

static int walk(struct level *l, struct err *e);

static int enter(struct level *l, const char *path, const char *name, struct err *e)
{
	struct level below = { .o = l->o,
			       .s = l->s,
			       .path = path,
			       .folder = -1,
			       .above = l,
			       .name = name,
			       .depth = l->depth + 1 };
	int r;

	if (below.depth > OUT_DEPTH_MAX) {
		leave_out(l->o, path, "folders lie too deep in one another");
		return 0;
	}
	l->o->folders++;
	r = walk(&below, e);
	io_close_fd(&below.folder);
	return r;
}

static int take_entry(struct level *l, const struct session_entry *entry, struct err *e)
{
	cleanup_text struct text path = { 0 };
	const char *name = entry->name;
	const char *wrong = wrong_name(name, l->o->hidden);

	if (!l->depth && entry->kind == '-' && entry->size_bytes == 0 &&
	    strcmp(name, OUT_MARKER) == 0)
		return 0;
	text_printf(&path, "%s/%s", l->path, name);
	if (path.failed)
		return text_check(&path, "a path", e);
	if (!wrong && entry->kind != '-' && entry->kind != 'd')
		wrong = entry->kind == 'l' ? "it is a link"
					   : "it is neither a file nor a folder";
	if (wrong) {
		leave_out(l->o, text_string(&path), wrong);
		return 0;
	}
	return entry->kind == 'd'
		       ? enter(l, text_string(&path), name, e)
		       : copy_file(l, text_string(&path), name, entry->size_bytes, e);
}

static int walk(struct level *l, struct err *e)
{
	cleanup_text struct text list = { .max = OUT_LIST_BYTES };
	struct session_entry entry;
	struct err why = { 0 };
	size_t at = 0;
	int r = session_get_text(l->s, SESSION_FOLDER, l->path, &list, &why);

	if (is_end(r)) {
		*e = why;
		return r;
	}
	if (r < 0) {
		leave_refused(l->o, l->path, r, &why);
		return 0;
	}
	while (r == 0 && (r = session_entry_next(&list, &at, &entry)) > 0) {
		if (l->o->count + l->o->left_count + l->o->folders >= OUT_FILES_MAX)
			return err_say(e, E2BIG, "it has more than %u files and folders",
				       OUT_FILES_MAX);
		if (l->o->name_bytes > OUT_NAMES_BYTES)
			return err_say(e, E2BIG, "its names are longer than %u MiB",
				       OUT_NAMES_BYTES >> 20);
		r = take_entry(l, &entry, e);
	}
	return r == -EBADMSG ? err_say(e, ENOTCONN, "what stepjail lists makes no sense")
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
	struct level top = { .o = o, .s = s, .path = OUT_FOLDER, .folder = o->folder.fd };
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
		r = walk(&top, &why);
	}
	if (r < 0)
		out_skip(o, why.text);
	if (r == -EINTR)
		*e = why;
	return r == -EINTR ? r : 0;
}
