/* SPDX-License-Identifier: MIT */
/*
 * record.c - a run as JSON: see record.h
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "agent/record.h"
#include "agent/utf8.h"
#include "init/io.h"

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

	record_string(one, "head", text_string(&head), head.length);
	if (cut)
		record_string(one, "tail", text_string(&tail), tail.length);
	(void)cJSON_AddNumberToObject(one, "bytes", (double)clip->total);
	(void)cJSON_AddNumberToObject(one, "cut_bytes", (double)cut);
}

static void add_run(cJSON *o, const struct step *step)
{
	cleanup_text struct text words = { 0 };

	verdict_words(&step->facts, &words);
	(void)cJSON_AddStringToObject(o, "verdict", verdict_name(step->facts.verdict));
	(void)cJSON_AddStringToObject(o, "state", state_name(step->facts.state));
	if (step->facts.headed)
		(void)cJSON_AddNumberToObject(o, "head", step->facts.head);
	(void)cJSON_AddStringToObject(o, "words", text_string(&words));
	(void)cJSON_AddNumberToObject(o, "wall_ms", (double)step->wall_ms);
	(void)cJSON_AddNumberToObject(o, "cpu_ms", (double)step->cpu_ms);
	(void)cJSON_AddNumberToObject(o, "max_rss_bytes", (double)step->max_rss_bytes);
	(void)cJSON_AddNumberToObject(o, "strays", step->strays);
	add_clip(o, "output", &step->out);
	add_clip(o, "error", &step->err);
	add_clip(o, "traceback", &step->trace);
	add_clip(o, "result", &step->result);
}

cJSON *record_step(uint64_t number, const struct text *code, const struct step *step,
		   const struct text *observation)
{
	cJSON *o = cJSON_CreateObject();

	(void)cJSON_AddNumberToObject(o, "step", (double)number);
	if (code)
		record_string(o, "code", text_string(code), code->length);
	else
		(void)cJSON_AddNullToObject(o, "code");
	if (step)
		add_run(o, step);
	record_string(o, "observation", text_string(observation), observation->length);
	return o;
}

void record_calls(cJSON *object, const struct reply *reply)
{
	cJSON *list = reply->call_count ? cJSON_AddArrayToObject(object, "calls") : NULL;

	for (size_t i = 0; list && i < reply->call_count; i++) {
		const struct call *c = &reply->calls[i];
		cJSON *one = cJSON_CreateObject();

		(void)cJSON_AddItemToArray(list, one);
		(void)cJSON_AddStringToObject(one, "id", c->id);
		(void)cJSON_AddStringToObject(one, "name", c->name);
		record_string(one, "arguments", text_string(&c->arguments),
			      c->arguments.length);
	}
}

cJSON *record_usage(const struct usage *usage)
{
	cJSON *o = cJSON_CreateObject();

	(void)cJSON_AddNumberToObject(o, "requests", (double)usage->requests);
	(void)cJSON_AddNumberToObject(o, "retries", (double)usage->retries);
	(void)cJSON_AddNumberToObject(o, "prompt_tokens", (double)usage->prompt_tokens);
	(void)cJSON_AddNumberToObject(o, "completion_tokens",
				      (double)usage->completion_tokens);
	if (usage->judged)
		(void)cJSON_AddNumberToObject(o, "judged", (double)usage->judged);
	return o;
}

int transcript_open(struct transcript *t, const char *path, struct err *e)
{
	t->fd = -1;
	if (!path)
		return 0;
	t->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_APPEND, 0600);
	if (t->fd < 0 && errno == EEXIST)
		return err_say(
			e, EEXIST,
			"--transcript: %s exists, and a transcript is never written "
			"over; give a new name",
			path);
	return t->fd < 0 ? err_set(e, errno, "--transcript: %s", path) : 0;
}

int transcript_add(struct transcript *t, cJSON *event, struct err *e)
{
	cleanup_text struct text line = { 0 };
	char *json = event ? cJSON_PrintUnformatted(event) : NULL;

	cJSON_Delete(event);
	if (!json)
		return err_set(e, ENOMEM, "--transcript");
	text_puts(&line, json);
	text_puts(&line, "\n");
	cJSON_free(json);

	int r = text_check(&line, "--transcript", e);

	if (r < 0 || t->fd < 0)
		return r;
	r = io_write_all(t->fd, line.bytes, line.length);
	return r < 0 ? err_set(e, -r, "--transcript: cannot write") : 0;
}
