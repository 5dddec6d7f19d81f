/* SPDX-License-Identifier: MIT */
/*
 * skills_save.c - what a model wants to keep: see skills_save.h
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/base/escape.h"
#include "agent/base/units.h"
#include "agent/base/utf8.h"
#include "agent/record/record.h"
#include "agent/skills/skills_save.h"
#include "agent/skills/trial.h"
#include "init/serve_wire.h"

#define SUFFIX ".py"
#define TASK_BYTES 80
#define ENTRIES_MAX 256 /* of the folder, that are looked at */
#define LIST_MAX_BYTES ((size_t)64 << 10)
#define TIME_BYTES 32
#define WORDS_BYTES 300

int save_plan(struct save *s, const struct jail_options *jail, struct broker *broker,
	      struct err *e)
{
	int r;

	s->skills = SKILLS_NONE;
	if (!s->dir)
		return 0;
	r = skills_find(&s->skills, s->dir, true, e);
	if (r < 0)
		return r;
	trial_args(&s->skills, jail, &s->args);
	r = broker_add(broker, &s->args, e);
	s->plan.line = r;
	s->plan.limit_ms = trial_ms(jail);
	return r < 0 ? r : 0;
}

int save_ready(struct save *s, bool stateless, struct err *e)
{
	int r = s->dir ? skills_read(&s->skills, e) : 0;

	if (r < 0 || !s->dir)
		return r;
	/* what a jail of one step leaves is gone with it */
	skills_prompt(&s->skills, !stateless, &s->preface);
	show_text(s->show, &s->skills.notes);
	return text_check(&s->preface, "the saved functions", e);
}

static int take_bytes(void *arg, const char *bytes, size_t length, struct err *e)
{
	text_add(arg, bytes, length);
	return text_check(arg, "a file of the session", e);
}

/* UTC, to the second */
static void say_now(char text[TIME_BYTES])
{
	time_t now = time(NULL);
	struct tm utc;

	text[0] = '\0';
	if (gmtime_r(&now, &utc))
		(void)strftime(text, TIME_BYTES, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

static cJSON *members(const struct save *s, const struct trial_facts *f)
{
	size_t task = utf8_floor(s->task, strlen(s->task), TASK_BYTES);
	cJSON *o = cJSON_CreateObject();
	char now[TIME_BYTES];
	cJSON *origin;

	say_now(now);
	record_string(o, "signature", text_string(&f->signature), f->signature.length);
	record_string(o, "doc", text_string(&f->doc), f->doc.length);
	(void)cJSON_AddNumberToObject(o, "examples", f->examples);
	origin = cJSON_AddObjectToObject(o, "origin");
	record_string(origin, "task", s->task, task);
	record_string(origin, "model", text_string(s->model), s->model->length);
	(void)cJSON_AddStringToObject(origin, "time", now);
	if (s->transcript->fd >= 0) {
		record_string(origin, "transcript", text_string(&s->record),
			      s->record.length);
		/* of its last line so far: the others come behind it */
		(void)cJSON_AddStringToObject(origin, "transcript_sha256",
					      s->transcript->chain.digest);
	}
	return o;
}

/* 1 where it is kept, 0 with @why, or -errno */
static int try_one(struct save *s, const char *name, const struct text *source,
		   const char *hex, struct text *why, struct err *e)
{
	struct trial_facts f = { .examples = 0 };
	cleanup_text struct text line = { 0 };
	struct err unkept = { 0 };
	int r = trial_run(&s->plan, name, source, &s->once, &f, why, e);

	if (r == 1) {
		cJSON *o = members(s, &f);

		r = skills_line(name, hex, o, &line, &unkept);
		cJSON_Delete(o);
		if (r == 0)
			r = skills_store(&s->skills, name, source, &line, &unkept);
		text_printf(why, r == 0 ? "%u examples hold" : "it could not be saved",
			    f.examples);
		if (r < 0)
			text_printf(why, ": %s", unkept.text);
		r = r == 0;
	} else if (r == -ENOTRECOVERABLE || r == -ETIMEDOUT) {
		text_puts(why, e->text);
		r = 0;
	}
	trial_facts_free(&f);
	return r;
}

/* why it is not even tried; or nothing */
static void look_at(const struct save *s, const char *name, const struct text *source,
		    const char *hex, struct text *why)
{
	const struct skill *one = skills_named(&s->skills, name);

	if (source->failed)
		text_puts(why, "it is larger than 64 KiB");
	else if (!source->length || memchr(source->bytes, '\0', source->length) ||
		 !utf8_valid(source->bytes, source->length))
		text_puts(why, "it is no text in UTF-8");
	else if (one && one->state == SKILL_FITS && strcmp(one->sha256, hex) == 0)
		text_puts(why, "the same is saved already");
	else if (one && one->state != SKILL_GONE)
		text_puts(why, "another of that name is saved already");
}

static int tell(struct save *s, const char *name, const char *hex, bool kept,
		const struct text *why, struct err *e)
{
	cleanup_text struct text line = { 0 };
	cleanup_text struct text words = { 0 };
	cJSON *o = cJSON_CreateObject();

	text_add(&words, why->bytes,
		 utf8_floor(text_string(why), why->length, WORDS_BYTES));
	text_printf(&line, "function %s: %s: %s", name, kept ? "saved" : "not saved",
		    text_string(&words));
	show_note(s->show, text_string(&line));
	record_string(o, "name", name, strlen(name));
	if (hex)
		(void)cJSON_AddStringToObject(o, "file_sha256", hex);
	(void)cJSON_AddBoolToObject(o, "kept", kept);
	record_string(o, "words", text_string(&words), words.length);
	s->told = s->told ? s->told : cJSON_CreateArray();
	(void)cJSON_AddItemToArray(s->told, cJSON_Duplicate(o, true));
	return transcript_add(s->transcript, s->session, "skill", o, e);
}

static int save_one(struct save *s, const char *name, struct err *e)
{
	cleanup_text struct text source = { .max = SKILL_BYTES_MAX };
	cleanup_text struct text path = { 0 };
	cleanup_text struct text why = { 0 };
	char hex[CHAIN_HEX];
	struct err unread = { 0 };
	int r;

	text_printf(&path, SAVE_FOLDER "/%s" SUFFIX, name);
	r = session_get(s->session, WIRE_GET, text_string(&path), take_bytes, &source,
			&unread);
	if (r == -EINTR) {
		*e = unread;
		return r;
	}
	chain_digest(text_string(&source), source.length, hex);
	if (r < 0 && !source.failed)
		text_puts(&why, unread.text);
	else
		look_at(s, name, &source, hex, &why);
	r = why.length ? 0 : try_one(s, name, &source, hex, &why, e);
	return r < 0 ? r : tell(s, name, hex, r > 0, &why, e);
}

/* an entry of a listing: kind, size, time, name. Why it is none to be kept, or NULL */
static const char *take_entry(const char *entry, char name[SKILL_NAME_MAX + 1])
{
	const char *at = entry;
	size_t length;

	for (int i = 0; i < 3; i++) {
		at = strchr(at, ' ');
		if (!at++)
			return "what it is cannot be told";
	}
	length = strlen(at);
	if (entry[0] != '-')
		return "it is no plain file";
	if (length <= strlen(SUFFIX) ||
	    strcmp(at + length - strlen(SUFFIX), SUFFIX) != 0 ||
	    !skill_name_good(at, length - strlen(SUFFIX)))
		return "its name must be small letters, digits and _, then .py";
	length -= strlen(SUFFIX);
	memcpy(name, at, length);
	name[length] = '\0';
	return NULL;
}

static int take_listed(struct save *s, const char *entry, size_t number, struct err *e)
{
	char name[SKILL_NAME_MAX + 1] = "";
	const char *wrong = number < SAVE_MAX ? take_entry(entry, name)
					      : "a task may save 16 functions";
	cleanup_text struct text why = { 0 };
	cleanup_text struct text shown = { 0 };
	const char *at = strrchr(entry, ' ');

	if (!wrong)
		return save_one(s, name, e);
	at = at ? at + 1 : entry;
	escape_line(&shown, at, utf8_floor(at, strlen(at), SKILL_NAME_MAX));
	text_puts(&why, wrong);
	return tell(s, text_string(&shown), NULL, false, &why, e);
}

/* of two entries: what stands behind kind, size and time */
static int by_name(const void *a, const void *b)
{
	const char *one = *(const char *const *)a, *other = *(const char *const *)b;
	const char *of_one = strrchr(one, ' '), *of_other = strrchr(other, ' ');

	return strcmp(of_one ? of_one : one, of_other ? of_other : other);
}

/* most tasks have nothing to save; another reason is told */
static int say_none(struct save *s, const struct err *why)
{
	cleanup_text struct text line = { 0 };

	text_printf(&line, "saved functions: they cannot be fetched: %s", why->text);
	if (!strstr(why->text, "No such file"))
		show_note(s->show, text_string(&line));
	return 0;
}

int save_all(void *arg, struct err *e)
{
	struct save *s = arg;
	cleanup_text struct text list = { .max = LIST_MAX_BYTES };
	struct err none = { 0 };
	const char *entries[ENTRIES_MAX];
	size_t count = 0;
	int r;

	if (!s->dir || s->skills.index_fd < 0 || !s->session->open ||
	    s->session->plan->stateless)
		return 0;
	r = session_get(s->session, WIRE_LIST, SAVE_FOLDER, take_bytes, &list, &none);
	if (r == -EINTR) {
		*e = none;
		return r;
	}
	if (r < 0 && !list.length)
		return say_none(s, &none);
	for (size_t at = 0; at < list.length && count < ENTRIES_MAX;
	     at += strlen(list.bytes + at) + 1)
		entries[count++] = list.bytes + at;
	qsort(entries, count, sizeof(entries[0]), by_name);
	r = 0;
	for (size_t i = 0; r >= 0 && i < count && i <= SAVE_MAX; i++)
		r = take_listed(s, entries[i], i, e);
	return r;
}

cJSON *save_json(struct save *s)
{
	cJSON *told = s->told;

	s->told = NULL;
	return told;
}

void save_free(struct save *s)
{
	cJSON_Delete(s->told);
	launch_args_free(&s->args);
	text_free(&s->preface);
	text_free(&s->record);
	if (s->dir)
		skills_free(&s->skills);
}
