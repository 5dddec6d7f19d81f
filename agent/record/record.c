/* SPDX-License-Identifier: MIT */
/*
 * record.c - a run as JSON: see record.h
 */
#include <stddef.h>
#include <string.h>

#include "agent/base/escape.h"
#include "agent/base/json.h"
#include "agent/base/utf8.h"
#include "agent/record/record.h"
#include "agent/session/media.h"

const struct record_stream record_streams[RECORD_STREAMS] = {
	{ "output", "stdout", offsetof(struct step, out) },
	{ "error", "stderr", offsetof(struct step, err) },
	{ "traceback", "the traceback", offsetof(struct step, trace) },
	{ "result", "the value of the last expression", offsetof(struct step, result) },
};

#define REASONING_MAX ((size_t)64 << 10)

static const char *const media_froms[] = {
	[MEDIA_FROM_DISPLAY] = "display",
	[MEDIA_FROM_RESULT] = "result",
	[MEDIA_FROM_FIGURE] = "figure",
};
static const char *const media_states[] = {
	[MEDIA_BROKEN] = "broken",
	[MEDIA_WHOLE] = "whole",
	[MEDIA_ABSENT] = "left-out",
	[MEDIA_TOO_BIG] = "too-big",
};

void record_string(cJSON *object, const char *name, const char *bytes, size_t length)
{
	cleanup_text struct text mended = { 0 };

	utf8_mend(&mended, bytes, length);
	(void)cJSON_AddStringToObject(object, name, text_string(&mended));
}

/* the kept part of a stream, its size, and how much of it is left out */
static void add_clip(cJSON *object, const char *name, const struct clip *clip)
{
	cleanup_text struct text head = { 0 };
	cleanup_text struct text tail = { 0 };
	uint64_t cut = clip_take(clip, &head, &tail);
	cJSON *one = cJSON_AddObjectToObject(object, name);
	char digest[DIGEST_HEX];

	clip_digest(clip, digest);
	record_string(one, "head", text_string(&head), head.length);
	if (cut)
		record_string(one, "tail", text_string(&tail), tail.length);
	(void)cJSON_AddNumberToObject(one, "bytes", (double)clip->total);
	(void)cJSON_AddNumberToObject(one, "cut_bytes", (double)cut);
	(void)cJSON_AddStringToObject(one, "sha256", digest);
}

/* what a step showed: a list, perhaps empty */
static cJSON *media_json(const struct media_list *l)
{
	cJSON *list = cJSON_CreateArray();

	for (size_t i = 0; i < l->count; i++) {
		const struct media_item *m = &l->items[i];
		cJSON *o = json_append(list);

		(void)cJSON_AddNumberToObject(o, "object", m->head.object);
		(void)cJSON_AddStringToObject(o, "kind", media_forms[m->head.kind].name);
		(void)cJSON_AddStringToObject(o, "from", media_froms[m->head.from]);
		(void)cJSON_AddStringToObject(o, "state", media_states[m->state]);
		(void)cJSON_AddNumberToObject(o, "bytes", (double)m->head.bytes);
		if (m->state == MEDIA_WHOLE)
			(void)cJSON_AddStringToObject(o, "sha256", m->sha256);
		if (m->name.length)
			record_string(o, "name", text_string(&m->name), m->name.length);
		if (m->saved.length)
			record_string(o, "saved", text_string(&m->saved),
				      m->saved.length);
		else if (m->unsaved.length)
			record_string(o, "unsaved", text_string(&m->unsaved),
				      m->unsaved.length);
	}
	return list;
}

static void add_run(cJSON *o, const struct step *step)
{
	cleanup_text struct text words = { 0 };
	const struct verdict_facts *f = &step->facts;

	verdict_words(f, &words);
	(void)cJSON_AddStringToObject(o, "verdict", verdict_name(f->verdict));
	(void)cJSON_AddStringToObject(o, "state", state_name(f->state));
	if (f->headed)
		(void)cJSON_AddNumberToObject(o, "head", f->head);
	(void)cJSON_AddNumberToObject(o, "exit_code", f->code);
	(void)cJSON_AddNumberToObject(o, "signal", f->signal);
	(void)cJSON_AddStringToObject(o, "violation", f->syscall);
	if (step->budget)
		(void)cJSON_AddTrueToObject(o, "budget_ended");
	(void)cJSON_AddStringToObject(o, "words", text_string(&words));
	(void)cJSON_AddNumberToObject(o, "wall_ms", (double)step->wall_ms);
	(void)cJSON_AddNumberToObject(o, "cpu_ms", (double)step->cpu_ms);
	(void)cJSON_AddNumberToObject(o, "max_rss_bytes", (double)step->max_rss_bytes);
	(void)cJSON_AddNumberToObject(o, "strays", step->strays);
	for (size_t i = 0; i < RECORD_STREAMS; i++)
		add_clip(o, record_streams[i].name,
			 (const void *)((const char *)step + record_streams[i].offset));
	if (step->media)
		(void)cJSON_AddItemToObject(o, "media", media_json(step->media));
}

cJSON *record_code(uint64_t number, const struct text *code, uint64_t cpu_ms)
{
	cJSON *o = cJSON_CreateObject();

	(void)cJSON_AddNumberToObject(o, "step", (double)number);
	record_string(o, "code", text_string(code), code->length);
	if (cpu_ms)
		(void)cJSON_AddNumberToObject(o, "cpu_limit_ms", (double)cpu_ms);
	return o;
}

cJSON *record_step(uint64_t number, const struct text *code, const struct step *step,
		   const struct text *observation)
{
	cJSON *o = cJSON_CreateObject();

	(void)cJSON_AddNumberToObject(o, "step", (double)number);
	if (code)
		record_string(o, "code", text_string(code), code->length);
	else if (!step)
		(void)cJSON_AddNullToObject(o, "code");
	if (step)
		add_run(o, step);
	if (observation)
		record_string(o, "observation", text_string(observation),
			      observation->length);
	return o;
}

/* what the model thought, where it told */
static void add_reasoning(cJSON *object, const struct text *thought)
{
	if (!thought->length)
		return;
	record_string(object, "reasoning", thought->bytes,
		      utf8_floor(thought->bytes, thought->length, REASONING_MAX));
	(void)cJSON_AddNumberToObject(object, "reasoning_bytes", (double)thought->length);
}

cJSON *record_reply(const struct reply *reply, const struct usage *usage)
{
	cJSON *o = cJSON_CreateObject();
	cJSON *calls;

	record_string(o, "text", text_string(&reply->text), reply->text.length);
	add_reasoning(o, &reply->reasoning);
	calls = reply->call_count ? cJSON_AddArrayToObject(o, "calls") : NULL;
	for (size_t i = 0; i < reply->call_count; i++) {
		const struct call *c = &reply->calls[i];
		cJSON *one = json_append(calls);

		(void)cJSON_AddStringToObject(one, "id", c->id);
		(void)cJSON_AddStringToObject(one, "name", c->name);
		record_string(one, "arguments", text_string(&c->arguments),
			      c->arguments.length);
	}
	(void)cJSON_AddItemToObject(o, "usage", record_usage(usage));
	return o;
}

cJSON *record_usage(const struct usage *usage)
{
	cJSON *o = cJSON_CreateObject();

	(void)cJSON_AddNumberToObject(o, "requests", (double)usage->requests);
	(void)cJSON_AddNumberToObject(o, "retries", (double)usage->retries);
	(void)cJSON_AddNumberToObject(o, "prompt_tokens", (double)usage->prompt_tokens);
	(void)cJSON_AddNumberToObject(o, "completion_tokens",
				      (double)usage->completion_tokens);
	if (usage->cached_tokens)
		(void)cJSON_AddNumberToObject(o, "cached_tokens",
					      (double)usage->cached_tokens);
	if (usage->cache_write_tokens)
		(void)cJSON_AddNumberToObject(o, "cache_write_tokens",
					      (double)usage->cache_write_tokens);
	if (usage->judged)
		(void)cJSON_AddNumberToObject(o, "judged", (double)usage->judged);
	return o;
}

/* what @from lacks is not in @to either */
static void copy(cJSON *to, const cJSON *from, const char *name)
{
	(void)cJSON_AddItemToObject(to, name,
				    cJSON_Duplicate(json_get(from, name), true));
}

cJSON *record_session(const struct session *s)
{
	static const char *const told[] = { "host_uid", "warm", "why_cold",
					    "not_enforced" };
	static const char *const digests[] = { "plan_sha256", "root_sha256",
					       "root_verified" };
	cJSON *o = cJSON_CreateObject();
	const cJSON *posture = json_get(s->opened, "posture");
	cleanup_text struct text line = { 0 };
	char hex[DIGEST_HEX];
	struct err unheard;

	(void)cJSON_AddNumberToObject(o, "session", s->id);
	for (size_t i = 0; i < COUNT(told); i++)
		copy(o, s->opened, told[i]);
	for (size_t i = 0; i < COUNT(digests); i++)
		copy(o, posture, digests[i]);
	/* the digest is of the object as this line has it */
	if (posture && record_print(posture, &line, &unheard) == 0) {
		digest_bytes(line.bytes, line.length, hex);
		(void)cJSON_AddStringToObject(o, "posture_sha256", hex);
		copy(o, s->opened, "posture");
	}
	return o;
}

/* one that is in a string of JSON: all others are ASCII there */
static void add_escape(struct text *out, uint32_t point)
{
	if (point < 0x10000) {
		text_printf(out, "\\u%04x", point);
		return;
	}
	point -= 0x10000;
	text_printf(out, "\\u%04x\\u%04x", 0xd800 | point >> 10,
		    0xdc00 | (point & 0x3ff));
}

int record_print(const cJSON *object, struct text *out, struct err *e)
{
	cleanup_text struct text json = { 0 };

	json_print(object, &json);

	const unsigned char *at = (const unsigned char *)text_string(&json);

	for (size_t left = json.length, n; left; at += n, left -= n) {
		uint32_t point = 0;

		n = *at < 0x7f ? 1 : utf8_decode(at, left, &point);
		if (*at < 0x7f || (n && !escape_hides(point)))
			text_add(out, at, n);
		else
			add_escape(out, n ? point : 0xfffd);
		n = n ? n : 1;
	}
	out->failed = json.failed ? json.failed : out->failed;
	return text_check(out, "a line of JSON", e);
}
