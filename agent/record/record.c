/* SPDX-License-Identifier: MIT */
/*
 * record.c - a run as JSON: see record.h
 */
#include <limits.h>
#include <unistd.h>
#include <unistr.h>

#include "agent/base/escape.h"
#include "agent/base/units.h"
#include "agent/base/utf8.h"
#include "agent/base/version.h"
#include "agent/record/record.h"

const struct record_stream record_streams[RECORD_STREAMS] = {
	{ "stdout", "stdout", offsetof(struct step, out) },
	{ "stderr", "stderr", offsetof(struct step, err) },
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

/* the kept part of a stream, its size, and how much of it is left out */
static void add_clip(cJSON *object, const char *name, const struct clip *clip)
{
	cleanup_text struct text head = { 0 }, tail = { 0 };
	uint64_t cut = clip_take(clip, &head, &tail);
	cJSON *one = cJSON_AddObjectToObject(object, name);
	char digest[DIGEST_HEX];

	clip_digest(clip, digest);
	json_add(one, "head", &head);
	if (cut)
		json_add(one, "tail", &tail);
	json_add(one, "bytes", clip->total);
	json_add(one, "left_out", cut);
	json_add(one, "sha256", digest);
}

/* what a step showed: a list, perhaps empty */
static cJSON *media_json(const struct media_list *l)
{
	cJSON *list = cJSON_CreateArray();

	for (size_t i = 0; i < l->count; i++) {
		const struct media_item *m = &l->items[i];
		cJSON *o = json_append(list);

		json_add(o, "object", m->head.object);
		json_add(o, "kind", media_forms[m->head.kind].name);
		json_add(o, "from", media_froms[m->head.from]);
		json_add(o, "state", media_states[m->state]);
		json_add(o, "bytes", m->head.bytes);
		if (m->state == MEDIA_WHOLE)
			json_add(o, "sha256", m->sha256);
		if (m->name.length)
			json_add(o, "name", &m->name);
		if (m->saved.length)
			json_add(o, "saved", &m->saved);
		else if (m->unsaved.length)
			json_add(o, "unsaved", &m->unsaved);
	}
	return list;
}

/* null where it is none */
static void add_number(cJSON *o, const char *name, bool any, double number)
{
	json_add(o, name, any ? cJSON_CreateNumber(number) : cJSON_CreateNull());
}

static void add_word(cJSON *o, const char *name, const char *word)
{
	json_add(o, name, word && *word ? word : NULL);
}

/* NULL where the step came to an end by itself, or by a limit of its own */
static const char *ended_by(const struct step *step)
{
	return step->stopped                                   ? "signal"
	       : step->budget                                  ? "task-limit"
	       : step->facts.verdict == VERDICT_CANCELLED      ? "user"
	       : step->facts.verdict == VERDICT_LAUNCHER_ERROR ? "failure"
							       : NULL;
}

static void add_run(cJSON *o, const struct step *step)
{
	static const char *const as_told[] = { "violations", "egress" };
	cleanup_text struct text words = { 0 };
	const struct verdict_facts *f = &step->facts;

	if (step->stopped)
		text_puts(&words, "a signal ended the run while this step ran");
	else
		verdict_words(f, &words);
	json_add(o, "verdict", verdict_name(f->verdict));
	json_add(o, "state", state_name(f->state));
	add_number(o, "state_number", f->headed, f->head);
	add_number(o, "exit_code", f->code >= 0, f->code);
	add_number(o, "signal", f->signal != 0, f->signal);
	add_word(o, "violation", f->syscall);
	for (size_t i = 0; i < COUNT(as_told); i++) {
		const cJSON *told = json_get(step->done, as_told[i]);

		json_add(o, as_told[i],
			 told ? cJSON_Duplicate(told, true) : cJSON_CreateNull());
	}
	add_word(o, "ended_by", ended_by(step));
	add_word(o, "limit", f->limit);
	json_add(o, "words", text_string(&words));
	json_add(o, "wall_ms", step->wall_ms);
	json_add(o, "cpu_ms", step->cpu_ms);
	json_add(o, "memory_peak_bytes", step->memory_peak_bytes);
	json_add(o, "strays", step->strays);
	for (size_t i = 0; i < RECORD_STREAMS; i++)
		add_clip(o, record_streams[i].name,
			 (const void *)((const char *)step + record_streams[i].offset));
	if (step->media)
		json_add(o, "media", media_json(step->media));
}

cJSON *record_step(uint64_t number, const struct text *code, const struct step *step,
		   const struct text *observation)
{
	cJSON *o = cJSON_CreateObject();

	json_add(o, "step", number);
	if (code || !step)
		json_add(o, "code", code);
	if (step)
		add_run(o, step);
	if (observation)
		json_add(o, "observation", observation);
	return o;
}

cJSON *record_code(uint64_t number, const struct text *code, uint64_t cpu_ms)
{
	cJSON *o = record_step(number, code, NULL, NULL);

	if (cpu_ms)
		json_add(o, "cpu_limit_ms", cpu_ms);
	return o;
}

/* what the model thought, where it told */
static void add_reasoning(cJSON *object, const struct text *thought)
{
	if (!thought->length)
		return;
	json_add(object, "reasoning",
		 json_mended(thought->bytes,
			     utf8_floor(thought->bytes, thought->length, REASONING_MAX)));
	json_add(object, "reasoning_bytes", thought->length);
}

cJSON *record_reply(const struct reply *reply, const struct usage *usage)
{
	cJSON *o = cJSON_CreateObject();

	json_add(o, "text", &reply->text);
	add_reasoning(o, &reply->reasoning);

	cJSON *calls = reply->call_count ? cJSON_AddArrayToObject(o, "calls") : NULL;

	for (size_t i = 0; i < reply->call_count; i++) {
		const struct call *c = &reply->calls[i];
		cJSON *one = json_append(calls);

		json_add(one, "id", c->id);
		json_add(one, "name", c->name);
		json_add(one, "arguments", &c->arguments);
	}
	json_add(o, "usage", record_usage(usage));
	return o;
}

cJSON *record_usage(const struct usage *usage)
{
	cJSON *o = cJSON_CreateObject();

	json_add(o, "requests", usage->requests);
	json_add(o, "retries", usage->retries);
	json_add(o, "prompt_tokens", usage->prompt_tokens);
	json_add(o, "completion_tokens", usage->completion_tokens);
	json_add(o, "cached_tokens", usage->cached_tokens);
	json_add(o, "cache_write_tokens", usage->cache_write_tokens);
	json_add(o, "judged", usage->judged);
	return o;
}

/* what @from lacks is not in @to either */
static void copy(cJSON *to, const cJSON *from, const char *name)
{
	json_add(to, name, cJSON_Duplicate(json_get(from, name), true));
}

cJSON *record_session(const struct session *s)
{
	static const char *const told[] = { "host_uid", "warm", "why_cold",
					    "not_enforced", "shut" };
	static const char *const digests[] = { "plan_sha256", "root_sha256",
					       "root_verified" };
	cJSON *o = cJSON_CreateObject();
	const cJSON *posture = json_get(s->opened, "posture");
	cleanup_text struct text line = { 0 };
	char hex[DIGEST_HEX];
	struct err unheard;

	json_add(o, "session", s->id);
	for (size_t i = 0; i < COUNT(told); i++)
		copy(o, s->opened, told[i]);
	for (size_t i = 0; i < COUNT(digests); i++)
		copy(o, posture, digests[i]);
	copy(o, s->wall, "vm");
	/* the digest is of the object as this line has it */
	if (posture && record_print(posture, &line, &unheard) == 0) {
		digest_bytes(line.bytes, line.length, hex);
		json_add(o, "posture_sha256", hex);
		copy(o, s->opened, "posture");
	}
	return o;
}

cJSON *record_model(const struct model *m)
{
	cJSON *o = cJSON_CreateObject();

	add_word(o, "provider", m->provider->name);
	add_word(o, "name", m->plan->model_name);
	add_word(o, "base_url", m->base_url);
	add_word(o, "script", m->script.path);
	json_add(o, "vision", m->plan->vision);
	return o;
}

static struct {
	char host[HOST_NAME_MAX + 1];
	char started[UNITS_UTC_BYTES];
	uid_t uid;
	char *const *argv;
} origin;

void record_begin(char *const *argv)
{
	origin.argv = argv;
	origin.uid = getuid();
	(void)gethostname(origin.host, HOST_NAME_MAX);
	units_now_utc("%Y-%m-%dT%H:%M:%S", ".", origin.started);
}

void record_origin(cJSON *o)
{
	json_add(o, "format", RECORD_FORMAT);
	json_add(o, "stepjail_agent", AGENT_VERSION);
	json_add(o, "host", origin.host);
	json_add(o, "uid", origin.uid);

	cJSON *argv = cJSON_AddArrayToObject(o, "argv");

	for (char *const *word = origin.argv; word && *word; word++)
		(void)cJSON_AddItemToArray(argv, json_mended(*word, strlen(*word)));
	json_add(o, "started", origin.started);
}

cJSON *record_result(const char *outcome, const struct text *answer, const char *error,
		     int status)
{
	cJSON *o = cJSON_CreateObject();

	record_origin(o);
	add_word(o, "outcome", outcome);
	json_add(o, "answer", answer);
	add_word(o, "error", error);
	json_add(o, "status", status);
	return o;
}

/* one that is in a string of JSON: all others are ASCII there */
static void add_escape(struct text *out, uint32_t point)
{
	uint16_t units[2];
	int count = u16_uctomb(units, point, COUNT(units));

	for (int i = 0; i < count; i++)
		text_printf(out, "\\u%04x", units[i]);
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
