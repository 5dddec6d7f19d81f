/* SPDX-License-Identifier: MIT */
/*
 * out_collect.c - /work/out, folder by folder, into one of the user's: see out.h
 */
#include <unictype.h>
#include <unistr.h>

#include "agent/base/path.h"
#include "agent/base/utf8.h"
#include "agent/loop/out.h"
#include "init/io.h"

#define NAME_BYTES 255   /* as Linux has it */
#define SETTLE_TRIES 100 /* for a step that is killed to be gone, on a busy host, too */
#define SETTLE_MS 100

/* where the walk is: in a folder of the jail's, and that of the user's that it goes to */
struct place {
	struct out *o;
	struct session *s;
	const char *path;
	int folder;
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

/* as the user has it: "" for the folder itself */
static const char *below(const char *path)
{
	path += strlen(OUT_FOLDER);
	return path + (*path == '/');
}

static void leave_out(struct out *o, const char *path, const char *why)
{
	cleanup_text struct text name = { 0 };

	if (++o->left_count > OUT_LEFT_MAX)
		return;

	cJSON *one = json_append(o->left);

	/* escaped: no byte of it is but for the eye */
	path = *below(path) ? below(path) : ".";
	escape_line(&name, path, strlen(path));
	json_add(one, "name", text_string(&name));
	json_add(one, "why", why);
}

/* stepjail did not give it: 0, or @r where that ends it all, by the session or by the
 * user's wish */
static int leave_refused(struct out *o, const char *path, int r, const struct err *why)
{
	cleanup_text struct text words = { 0 };

	if (r == -ENOTCONN || r == -EINTR || r == -ETIMEDOUT)
		return r;
	if (r == -EPERM) { /* its words may quote the jail's */
		text_puts(&words, "stepjail says: ");
		escape_name(&words, why->text, strlen(why->text));
	}
	leave_out(o, path, r == -EPERM ? text_string(&words) : why->text);
	return 0;
}

/* the user's disk or folder did not take it, which is no fault of the jail's: 0, or
 * -errno where there is no room for more */
static int leave_unwritten(struct out *o, const char *path, int errnum, struct err *e)
{
	bool taken = errnum == EEXIST || errnum == ENOTDIR || errnum == ELOOP;
	cleanup_text struct text why = { 0 };

	if (!taken && o->unwritten++ == 0) {
		escape_name(&o->failed, below(path), strlen(below(path)));
		text_printf(&o->failed, " could not be written to %s: %s",
			    text_string(&o->folder.path), strerror(errnum));
	}
	text_printf(&why, "%s%s", taken ? "" : "it could not be written: ",
		    errnum == EEXIST ? "a file of that name is there already"
				     : strerror(errnum));
	leave_out(o, path, text_string(&why));
	return errnum == ENOSPC || errnum == EDQUOT
		       ? err_set(e, errnum, "%s", text_string(&o->folder.path))
		       : 0;
}

static int take_bytes(void *arg, const char *bytes, size_t length, struct err *e)
{
	struct copy *c = arg;

	if (length > c->o->limit_bytes - c->o->came - c->bytes)
		return err_say(e, EFBIG, "--out-limit");

	int r = io_write_all(c->file.fd, bytes, length);

	if (r < 0) {
		c->failed = -r;
		return err_set(e, -r, "it cannot be written");
	}
	sha256_update(&c->sum, length, (const uint8_t *)bytes);
	c->bytes += length;
	return 0;
}

static void add_file(struct out *o, const char *path, struct copy *c)
{
	cJSON *one = json_append(o->files);
	char hex[DIGEST_HEX];

	digest_hex(&c->sum, hex);
	json_add(one, "name", below(path));
	json_add(one, "bytes", c->bytes);
	json_add(one, "sha256", hex);
	o->bytes += c->bytes;
	o->name_bytes += strlen(below(path));
}

/* all of its bytes, under a name that nobody looks at; then that gets its own */
static int take_file(const struct place *in, const char *path, struct copy *c,
		     struct err *e)
{
	sha256_init(&c->sum);

	int r = session_get(in->s, SESSION_FILE, path, take_bytes, c, e);

	in->o->came += c->bytes;
	if (r == 0)
		c->failed = -folder_keep(&c->file, path_last(path));
	folder_drop(&c->file);
	return r;
}

static int copy_file(const struct place *in, const char *path, uint64_t size,
		     struct err *e)
{
	struct out *o = in->o;
	struct copy c = { .o = o };
	int r = 0;

	if (size > o->limit_bytes - o->came) {
		r = err_say(e, EFBIG,
			    "--out-limit: it has %" PRIu64 " bytes, and %" PRIu64
			    " are left",
			    size, o->limit_bytes - o->came);
		return leave_refused(o, path, r, e);
	}
	c.failed = -folder_begin(&c.file, in->folder, 0666);
	if (!c.failed)
		r = take_file(in, path, &c, e);
	if (c.failed)
		return leave_unwritten(o, path, c.failed, e);
	if (r < 0)
		return leave_refused(o, path, r, e);
	add_file(o, path, &c);
	return 0;
}

/* white space at its beginning or end is not seen, or taken for none */
static bool is_padded(const char *name, size_t length)
{
	const uint8_t *at = (const uint8_t *)name;
	ucs4_t first = ' ', last = ' ';

	(void)u8_next(&first, at);
	(void)u8_prev(&last, at + length, at);
	return uc_is_property_white_space(first) || uc_is_property_white_space(last);
}

/* NULL for what is copied or gone into, else what is wrong with it */
static const char *wrong_entry(const struct out *o, unsigned int depth,
			       const struct session_entry *entry)
{
	cleanup_text struct text shown = { 0 };
	const char *name = entry->name;
	size_t length = strlen(name);

	if (!length || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
	    strchr(name, '/'))
		return "it is not the name of a file";
	if (length > NAME_BYTES)
		return "its name is too long";
	if (name[0] == '.' && !o->hidden)
		return "its name begins with a dot (--out-hidden copies those, too)";
	if (name[0] == '-')
		return "its name begins with a dash: programs take that for an option";
	if (!utf8_valid(name, length))
		return "its name is not UTF-8";
	if (is_padded(name, length))
		return "its name begins or ends with a blank";
	escape_line(&shown, name, length);
	if (strchr(name, '\t') || strcmp(text_string(&shown), name) != 0)
		return "its name holds control or invisible characters";
	if (entry->kind == 'd' && depth == OUT_DEPTH_MAX)
		return "folders are nested too deep";
	if (entry->kind == 'd' || entry->kind == '-')
		return NULL;
	return entry->kind == 'l' ? "it is a link" : "it is neither a file nor a folder";
}

static int walk(const struct place *in, struct err *e);

static int enter(const struct place *in, const char *path, struct err *e)
{
	cleanup_fd int folder = folder_enter(in->folder, path_last(path));
	const struct place to = { in->o, in->s, path, folder, in->depth + 1 };

	return folder < 0 ? leave_unwritten(in->o, path, -folder, e) : walk(&to, e);
}

static int take_entry(const struct place *in, const struct session_entry *entry,
		      struct err *e)
{
	cleanup_text struct text path = { 0 };
	struct out *o = in->o;
	const char *wrong = wrong_entry(o, in->depth, entry);

	if (o->seen == OUT_FILES_MAX)
		return err_say(e, E2BIG, "it has more than %u files and folders",
			       OUT_FILES_MAX);
	if (o->name_bytes > OUT_NAMES_BYTES)
		return err_say(e, E2BIG, "its names are longer than %u MiB",
			       OUT_NAMES_BYTES >> 20);
	if (!in->depth && entry->kind == '-' && entry->size_bytes == 0 &&
	    strcmp(entry->name, OUT_MARKER) == 0)
		return 0;
	o->seen++;
	text_printf(&path, "%s/%s", in->path, entry->name);
	if (path.failed)
		return text_check(&path, "a path", e);
	if (wrong) {
		leave_out(o, text_string(&path), wrong);
		return 0;
	}
	return entry->kind == 'd'
		       ? enter(in, text_string(&path), e)
		       : copy_file(in, text_string(&path), entry->size_bytes, e);
}

static int walk(const struct place *in, struct err *e)
{
	cleanup_text struct text list = { .max = OUT_LIST_BYTES };
	struct session_entry entry;
	size_t at = 0;
	int r = session_get_text(in->s, SESSION_FOLDER, in->path, &list, e);

	if (r < 0)
		return leave_refused(in->o, in->path, r, e);
	while (r == 0 && (r = session_entry_next(&list, &at, &entry)) > 0)
		r = take_entry(in, &entry, e);
	return r == -EBADMSG ? err_say(e, ENOTCONN, "stepjail's list of files is invalid")
			     : r;
}

/* a step that the task's end came to is still running: files wait for its end */
static int settle(struct session *s, struct err *e)
{
	session_kill(s);
	for (int i = 0; i < SETTLE_TRIES; i++) {
		cleanup_text struct text list = { .max = OUT_LIST_BYTES };
		int r = session_get_text(s, SESSION_FOLDER, ".", &list, e);

		if (r != -EPERM)
			return r;
		if (stop_sleep(s->serve.stop, SETTLE_MS) < 0)
			return err_say(e, EINTR, "stopped by a signal");
	}
	return -EPERM;
}

int out_collect(struct out *o, struct session *s, bool ended, struct err *e)
{
	const struct place top = { o, s, OUT_FOLDER, o->folder.fd, 0 };

	if (o->folder.fd < 0 || o->why.length)
		return 0;

	int r = s->open ? 0 : err_say(e, ENOTCONN, "the session is gone");

	if (r == 0 && ended)
		r = settle(s, e);
	if (r == 0) {
		o->files = cJSON_CreateArray();
		o->left = cJSON_CreateArray();
		r = walk(&top, e);
	}
	if (r < 0)
		out_skip(o, e->text);
	return r == -EINTR ? r : 0;
}
