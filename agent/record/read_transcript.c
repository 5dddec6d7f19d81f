/* SPDX-License-Identifier: MIT */
/*
 * read_transcript.c - a transcript read back: see read_transcript.h
 */
#include <ctype.h>

#include "agent/base/units.h"
#include "agent/record/read_transcript.h"
#include "agent/record/record.h"
#include "agent/record/transcript.h"
#include "init/io.h"

/* who takes the lines, and the one that has begun. No line is read behind one that
 * does not fit: r->why is filled then */
struct reader {
	struct read_transcript *r;
	read_transcript_take *take;
	void *arg;
	struct text line;
};

/* what the chain cannot know: a beginning, and an end that is one */
static int check_event(struct read_transcript *r, uint64_t number, const char *event)
{
	if (r->end == READ_TRANSCRIPT_WHOLE)
		return err_say(&r->why, EBADMSG, "it comes after the end line");
	if (!*event)
		return err_say(&r->why, EBADMSG, "it is not a JSON object with an event");
	if ((number == 1) != (strcmp(event, "start") == 0))
		return err_say(&r->why, EBADMSG,
			       "a transcript has one start line, which is the first");
	return 0;
}

/* Format 1 had other names. Transcripts of it are read for one release more; its 0 and ""
 * are null today, see is_nothing() in replay_compare.c */
static void renew(const char *event, cJSON *line)
{
	static const struct {
		const char *event, *was, *is;
	} names[] = {
		{ "start", "jail", "inputs" },
		{ "step", "head", "state_number" },
		{ "step", "max_rss_bytes", "memory_peak_bytes" },
		{ "step", "output", "stdout" },
		{ "step", "error", "stderr" },
	};
	const char *verdict = json_text(line, "verdict");
	const char *by = json_get(line, "budget_ended")           ? "task-limit"
			 : strcmp(verdict, "cancelled") == 0      ? "user"
			 : strcmp(verdict, "launcher-error") == 0 ? "failure"
								  : NULL;
	cJSON *one;

	for (size_t i = 0; i < COUNT(names); i++)
		if (strcmp(event, names[i].event) == 0 &&
		    (one = cJSON_DetachItemFromObjectCaseSensitive(line, names[i].was)))
			json_add(line, names[i].is, one);
	if (json_string(line, "model")) {
		cJSON *model = cJSON_CreateObject();

		json_add(model, "name", json_string(line, "model"));
		(void)cJSON_ReplaceItemInObjectCaseSensitive(line, "model", model);
	}
	if (by)
		json_add(line, "ended_by", by);
}

static void count_step(struct read_transcript *r, const char *event, const cJSON *line)
{
	if (strcmp(event, "code") == 0)
		r->begun = true;
	if (strcmp(event, "step") != 0)
		return;
	r->begun = false;
	r->steps++;
	r->cut_off += json_string(line, "ended_by") ? 1 : 0;
}

/* 0, or -errno of take */
static int take_line(struct reader *reader, struct err *e)
{
	struct read_transcript *r = reader->r;
	const struct text *line = &reader->line;
	struct chain next = r->chain;
	cleanup_json cJSON *root = NULL;

	if (chain_check(&next, text_string(line), line->length, &r->why) < 0)
		return 0;
	if (json_crowded(line->bytes, line->length)) {
		(void)err_say(&r->why, EBADMSG, "it has more than %d values",
			      JSON_VALUES_MAX);
		return 0;
	}
	root = json_parse(line->bytes, line->length);

	const char *event = json_text(root, "event");

	if (check_event(r, next.lines, event) < 0)
		return 0;
	if (next.lines == 1 && (!json_u32(root, "format", &r->format) || !r->format ||
				r->format > RECORD_FORMAT)) {
		(void)err_say(
			&r->why, EBADMSG,
			"it has format %u, of another release; this one reads 1 and %d",
			r->format, RECORD_FORMAT);
		return 0;
	}
	if (r->format < RECORD_FORMAT)
		renew(event, root);
	r->chain = next;
	count_step(r, event, root);
	if (strcmp(event, "end") == 0)
		r->end = READ_TRANSCRIPT_WHOLE;
	return reader->take ? reader->take(reader->arg, event, root, e) : 0;
}

/* the file's last bytes, without a newline: a line that was being written? */
static void look_at_rest(struct read_transcript *r, const struct text *rest)
{
	cleanup_text struct text head = { 0 };
	struct chain chain = r->chain;
	const char *wrong = NULL;
	struct err unheard;
	bool whole = rest->length > 1 && chain_check(&chain, text_string(rest),
						     rest->length - 1, &unheard) == 0;

	chain_head(&r->chain, &head);

	size_t both = head.length < rest->length ? head.length : rest->length;

	if (r->end == READ_TRANSCRIPT_WHOLE || whole ||
	    memcmp(text_string(&head), text_string(rest), both) != 0)
		wrong = "it is not the beginning of a line of this transcript";
	for (size_t i = 0; i < rest->length; i++)
		if (iscntrl((unsigned char)rest->bytes[i]))
			wrong = "it holds control bytes";
	r->half = true;
	if (wrong)
		(void)err_say(&r->why, EBADMSG, "%s", wrong);
}

static int take_byte(struct reader *reader, char byte, struct err *e)
{
	struct text *line = &reader->line;
	int s = 0;

	if (byte == '\n') {
		s = take_line(reader, e);
		text_clear(line);
		return s;
	}
	text_add(line, &byte, 1);
	if (line->failed)
		(void)err_say(&reader->r->why, E2BIG,
			      "it is longer than the %zu MiB that a line may have",
			      line->max >> 20);
	return 0;
}

int read_transcript_run(int fd, read_transcript_take *take, void *arg,
			struct read_transcript *r, struct err *e)
{
	struct reader reader = { r, take, arg, { .max = TRANSCRIPT_LINE_MAX } };
	char bytes[65536];
	ssize_t n = 0;
	int s = 0;

	*r = (struct read_transcript){ .end = READ_TRANSCRIPT_CUT };
	chain_begin(&r->chain);
	if (lseek(fd, 0, SEEK_SET) < 0)
		return err_set(e, errno, "the transcript");
	while (s == 0 && !r->why.errnum &&
	       (n = io_read_all(fd, bytes, sizeof(bytes))) > 0)
		for (ssize_t i = 0; s == 0 && !r->why.errnum && i < n; i++)
			s = take_byte(&reader, bytes[i], e);
	if (n < 0)
		s = err_set(e, (int)-n, "the transcript");
	if (s == 0 && !r->why.errnum && reader.line.length)
		look_at_rest(r, &reader.line);
	if (r->why.errnum)
		r->end = READ_TRANSCRIPT_CHANGED;
	text_free(&reader.line);
	r->steps += r->begun;
	return s;
}

static void add_steps(const struct read_transcript *r, struct text *out)
{
	text_puts(out, units_say_things(r->steps, "step").text);
	if (r->cut_off)
		text_printf(out, ", %" PRIu64 " of them cut off", r->cut_off);
	if (r->begun)
		text_puts(out, ", the last of them without an end");
}

void read_transcript_words(const struct read_transcript *r, const char *path,
			   struct text *out)
{
	text_printf(out, "%s: ", path);
	if (r->end == READ_TRANSCRIPT_CHANGED) {
		text_printf(out, "line %" PRIu64 " is wrong: %s%s", r->chain.lines + 1,
			    r->why.text,
			    r->chain.lines ? "" : " (is this file a transcript?)");
		return;
	}
	if (r->end == READ_TRANSCRIPT_CUT) {
		text_printf(out, "whole up to line %" PRIu64 " (", r->chain.lines);
		add_steps(r, out);
		text_printf(
			out,
			")%s; the end line is missing: the run was killed, or is still going on, or lines were cut off",
			r->half ? ", and the next one is not finished" : "");
	} else {
		text_printf(out, "whole: %s, ",
			    units_say_things(r->chain.lines, "line").text);
		add_steps(r, out);
		text_printf(out, ", sha256 %s", r->chain.digest);
	}
}
