/* SPDX-License-Identifier: MIT */
/*
 * account.c - a transcript, told to a person: see account.h
 */
#include <string.h>

#include "agent/base/utf8.h"
#include "agent/record/account.h"
#include "agent/record/record.h"

#define TASK "Task: "    /* prompt_task() begins with it */
#define COMMAND_BYTES 15 /* of these as they are listed */
#define TASK_BYTES 63
#define OUTCOME_BYTES 23
#define PART_BYTES 2048 /* of a step's code, and of each of its streams */

static const char *task_of(const cJSON *start)
{
	const char *user = json_text(start, "user");

	return user + (strncmp(user, TASK, strlen(TASK)) == 0 ? strlen(TASK) : 0);
}

/* the first line of them, as far as it goes in */
static void put_words(cJSON *o, const char *name, size_t most, const char *words)
{
	cleanup_text struct text line = { 0 };

	text_add(&line, words, utf8_floor(words, strcspn(words, "\n"), most));
	(void)cJSON_ReplaceItemInObjectCaseSensitive(
		o, name, cJSON_CreateString(text_string(&line)));
}

static int take_words(void *arg, const char *event, const cJSON *line, struct err *e)
{
	(void)e;
	if (strcmp(event, "start") == 0) {
		put_words(arg, "command", COMMAND_BYTES, json_text(line, "command"));
		put_words(arg, "task", TASK_BYTES, task_of(line));
	}
	if (strcmp(event, "end") == 0)
		put_words(arg, "outcome", OUTCOME_BYTES, json_text(line, "outcome"));
	return 0;
}

int account_read(int fd, cJSON *o, struct err *e)
{
	struct read_transcript reading;

	json_add(o, "command", "");
	json_add(o, "task", "");
	json_add(o, "outcome", "");

	int r = read_transcript_run(fd, take_words, o, &reading, e);

	if (reading.end != READ_TRANSCRIPT_WHOLE)
		put_words(o, "outcome", OUTCOME_BYTES,
			  reading.end == READ_TRANSCRIPT_CUT       ? "unfinished"
			  : reading.format && !reading.chain.lines ? "of another release"
								   : "changed");
	json_add(o, "steps", reading.steps);
	return r;
}

/* ---- step by step: no line that is shown begins with words of the file */

/* the beginning of @words, of which there were @total bytes */
static void show_part(struct show *s, const char *title, const char *words,
		      uint64_t total)
{
	struct clip clip;
	size_t kept = utf8_floor(words, strlen(words), PART_BYTES);

	if (!total)
		return;
	clip_clear(&clip);
	clip_add(&clip, words, kept);
	clip_resume(&clip, total > kept ? total - kept : 0, "", 0);
	show_note(s, "%s", title);
	show_said_by(s, &clip);
}

static void show_start(struct show *s, const cJSON *line)
{
	cleanup_text struct text head = { 0 };
	const char *task = task_of(line);
	const cJSON *model = json_get(line, "model");
	const cJSON *word = model ? model->child : NULL;

	text_printf(&head, "recorded: %.20s %.30s", json_text(line, "command"),
		    json_text(line, "time"));
	for (; word; word = word->next)
		if (cJSON_IsString(word))
			text_printf(&head, " %.300s", word->valuestring);
	show_line(s, "%s", text_string(&head));
	show_part(s, "task", task, strlen(task));
}

static void show_begin(struct show *s, const cJSON *line)
{
	const char *code = json_text(line, "code");
	size_t kept = utf8_floor(code, strlen(code), PART_BYTES);
	uint32_t step = 0;

	(void)json_u32(line, "step", &step);
	show_code(s, step, 0, code, kept, false);
	if (code[kept])
		show_note(s, "the rest of its code is not shown here");
}

static void show_ended(struct show *s, const cJSON *line)
{
	const char *observation = json_text(line, "observation");
	uint64_t bytes;

	if (!json_get(line, "verdict")) {
		show_part(s, "nothing was run", observation, strlen(observation));
		return;
	}
	for (size_t i = 0; i < RECORD_STREAMS; i++) {
		const cJSON *stream = json_get(line, record_streams[i].name);

		if (json_count(stream, "bytes", &bytes))
			show_part(s, record_streams[i].words, json_text(stream, "head"),
				  bytes);
	}
	show_line(s, "ended: %.40s: %.300s", json_text(line, "verdict"),
		  json_text(line, "words"));
	show_refused(s, json_get(line, "violations"),
		     strcmp(json_text(line, "verdict"), "violation") == 0);
}

static void show_end(struct show *s, const cJSON *line)
{
	const char *answer = json_text(line, "answer");
	const char *error = json_text(line, "error");

	if (*answer)
		show_answer(s, answer, strlen(answer));
	show_line(s, "outcome: %.40s%s%.300s", json_text(line, "outcome"),
		  *error ? ": " : "", error);
}

static const struct event {
	const char *name;
	void (*show)(struct show *s, const cJSON *line);
	/* or in a line: who or what it is of, what it must be, why it is not */
	const char *of, *good, *why;
} events[] = {
	{ "start", .show = show_start },
	{ "code", .show = show_begin },
	{ "step", .show = show_ended },
	{ "end", .show = show_end },
	{ "command", .of = "command" },
	{ "tests", .good = "stands", .why = "why" },
	{ "checked", .of = "check", .good = "passed", .why = "printed" },
};

static void show_event(struct show *s, const struct event *event, const cJSON *line)
{
	cleanup_text struct text words = { 0 };

	text_puts(&words, event->name);
	if (event->of)
		text_printf(&words, " %.100s", json_text(line, event->of));
	if (event->good)
		text_printf(&words, ": %s%s: %.300s",
			    cJSON_IsTrue(json_get(line, event->good)) ? "" : "not ",
			    event->good, json_text(line, event->why));
	show_line(s, "%s", text_string(&words));
}

static int take_event(void *arg, const char *event, const cJSON *line, struct err *e)
{
	struct show *s = arg;

	for (size_t i = 0; i < COUNT(events); i++) {
		if (strcmp(events[i].name, event) != 0)
			continue;
		if (events[i].show)
			events[i].show(s, line);
		else
			show_event(s, &events[i], line);
	}
	return show_check(s, e);
}

int account_show(int fd, struct show *show, struct read_transcript *reading,
		 struct err *e)
{
	int r = read_transcript_run(fd, take_event, show, reading, e);

	if (reading->begun)
		show_note(show, "the last step was cut off: its end is not recorded");
	return r;
}
