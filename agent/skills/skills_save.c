/* SPDX-License-Identifier: MIT */
/*
 * skills_save.c - what a model wants to keep, fetched, tried and saved: see skills.h
 *
 * The bytes that were fetched are the bytes that are tried and saved: a jail that changes
 * its file later changes nothing here. Files are made by calls that a confined agent has,
 * below an fd that was opened before: see the rows of CONFINE_CREATE and CONFINE_KEEP in
 * confine_calls.c.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/escape.h"
#include "agent/base/folder.h"
#include "agent/base/json.h"
#include "agent/base/secret.h"
#include "agent/base/utf8.h"
#include "agent/record/record.h"
#include "agent/skills/skills.h"
#include "init/io.h"

#define FOLDER "skills_new" /* below the jail's /work */
#define SUFFIX ".py"
#define SMALL "abcdefghijklmnopqrstuvwxyz"
#define LIST_MAX_BYTES ((size_t)1 << 20)

bool skills_file_good(const char *file)
{
	size_t length = strspn(file, SMALL "0123456789_");

	return file[0] && strchr(SMALL, file[0]) && length <= SKILLS_NAME_MAX &&
	       strcmp(file + length, SUFFIX) == 0;
}

static int make_order(const char *file, const struct text *source, const char *secret,
		      struct text *order, struct err *e)
{
	cleanup_text struct text json = { 0 };
	cleanup_json cJSON *o = cJSON_CreateObject();

	record_string(o, "name", file, strlen(file) - strlen(SUFFIX));
	record_text(o, "source", source);
	if (record_print(o, &json, e) < 0)
		return -e->errnum;
	text_printf(order, "%zu\n%s%s\n", json.length, text_string(&json), secret);
	return text_check(order, "a trial", e);
}

/* passed where the judge in the jail wrote this trial's secret, and ended well */
static int try_file(struct skills *s, const char *file, const struct text *source,
		    struct err *e)
{
	cleanup_text struct text order = { 0 };
	cleanup_text struct text said = { 0 };
	char secret[SECRET_NONCE_HEX];

	if (secret_nonce(secret, e) < 0 ||
	    make_order(file, source, secret, &order, e) < 0 ||
	    skills_run(s, &order, &said, e) < 0)
		return -e->errnum;
	/* the judge writes it as it read it, with the newline */
	if (said.length != strlen(secret) + 1 ||
	    memcmp(said.bytes, secret, strlen(secret)) != 0)
		return err_say(e, EBADMSG, "its trial ended without a verdict");
	return 0;
}

int skills_store(const struct skills *s, const char *file, const struct text *source,
		 struct err *e)
{
	struct folder_file new;
	int r = folder_begin(&new, s->fd, 0644);

	if (r == 0)
		r = io_write_all(new.fd, source->bytes, source->length);
	/* whatever the umask, jails of other users are to read it */
	if (r == 0 && (fchmod(new.fd, 0644) < 0 || fsync(new.fd) < 0))
		r = -errno;
	if (r == 0)
		r = folder_keep(&new, file);
	folder_drop(&new);
	if (r == -EEXIST)
		return err_say(e, EEXIST, "a file of that name is there already");
	if (r < 0)
		return err_set(e, -r, "it cannot be saved");
	if (fsync(s->fd) < 0) {
		r = err_set(e, errno, "its folder cannot be written to the disk");
		(void)unlinkat(s->fd, file, 0);
	}
	return r;
}

static int save_file(struct skills *s, const char *file, char hex[DIGEST_HEX],
		     struct err *e)
{
	cleanup_text struct text source = { .max = SKILLS_FILE_MAX };
	cleanup_text struct text path = { 0 };
	int r;

	text_printf(&path, FOLDER "/%s", file);
	r = session_get_text(&s->task->session, SESSION_FILE, text_string(&path), &source,
			     e);
	if (source.failed == E2BIG)
		return err_say(e, EFBIG, "it is larger than 64 KiB");
	if (r < 0)
		return r;
	digest_bytes(text_string(&source), source.length, hex);
	if (!source.length || memchr(source.bytes, '\0', source.length) ||
	    !utf8_valid(source.bytes, source.length))
		return err_say(e, EILSEQ, "it is not UTF-8 text");
	r = try_file(s, file, &source, e);
	return r < 0 ? r : skills_store(s, file, &source, e);
}

/* show and record what became of a file */
static int tell(struct skills *s, const char *file, const char *hex, bool kept,
		const char *words, struct err *e)
{
	cleanup_text struct text name = { 0 };
	cleanup_text struct text shown = { 0 };
	cJSON *o = cJSON_CreateObject();

	escape_line(&name, file, utf8_floor(file, strlen(file), SKILLS_NAME_MAX));
	if (skills_file_good(file))
		text_puts(&shown, file);
	else /* it is no name of a function */
		escape_name(&shown, file, strlen(file));
	show_say(&s->task->show, "skills: %s: %s: %s", text_string(&shown),
		 kept ? "saved" : "not saved", words);
	record_text(o, "name", &name);
	if (*hex)
		(void)cJSON_AddStringToObject(o, "file_sha256", hex);
	(void)cJSON_AddBoolToObject(o, "kept", kept);
	record_string(o, "words", words, strlen(words));
	s->told = s->told ? s->told : cJSON_CreateArray();
	(void)cJSON_AddItemToArray(s->told, cJSON_Duplicate(o, true));
	return task_record(s->task, "skill", o, e);
}

static int take_entry(struct skills *s, const struct session_entry *entry, size_t number,
		      struct err *e)
{
	const char *file = entry->name;
	char hex[DIGEST_HEX] = "";
	int r;

	if (number == SKILLS_SAVE_MAX)
		r = err_say(e, E2BIG, "a task may save 16 functions");
	else if (entry->kind != '-')
		r = err_say(e, EINVAL, "it is no plain file");
	else if (!skills_file_good(file))
		r = err_say(
			e, EINVAL,
			"its name must be at most 48 small letters, digits and _, then .py");
	else
		r = save_file(s, file, hex, e);
	if (r == -EINTR)
		return r;
	return tell(s, file, hex, r == 0, r == 0 ? "its examples hold" : e->text, e);
}

/* the entries of skills_new; none where there is no such folder */
static int list_new(struct skills *s, struct text *list, struct err *e)
{
	struct session_entry entry;
	bool found = false;
	size_t at = 0;
	int r = session_get_text(&s->task->session, SESSION_FOLDER, ".", list, e);

	while (r == 0 && !found && session_entry_next(list, &at, &entry) > 0)
		found = strcmp(entry.name, FOLDER) == 0;
	text_clear(list);
	return found ? session_get_text(&s->task->session, SESSION_FOLDER, FOLDER, list,
					e)
		     : r;
}

int skills_save(struct skills *s, struct err *e)
{
	cleanup_text struct text list = { .max = LIST_MAX_BYTES };
	struct session_entry entry;
	size_t number = 0, at = 0;
	int r, more = 0;

	if (!s->save || !s->task->session.open)
		return 0;
	r = list_new(s, &list, e);
	if (r < 0 && r != -EINTR) {
		show_say(&s->task->show, "skills: new functions cannot be fetched: %s",
			 e->text);
		return 0;
	}
	while (r == 0 && number <= SKILLS_SAVE_MAX &&
	       (more = session_entry_next(&list, &at, &entry)) > 0)
		r = take_entry(s, &entry, number++, e);
	if (more < 0)
		show_note(
			&s->task->show,
			"skills: the list of new functions is invalid from here on: the rest is not fetched");
	return r;
}
