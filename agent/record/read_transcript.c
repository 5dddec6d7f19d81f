/* SPDX-License-Identifier: MIT */
/*
 * read_transcript.c - a transcript read back: see read_transcript.h
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/json.h"
#include "agent/record/read_transcript.h"
#include "agent/record/transcript.h"
#include "init/io.h"

#define PIECE_BYTES ((size_t)65536)

/* what the chain cannot know: a beginning, and an end that is one */
static int check_event(const struct read_transcript *r, bool ended, const char *event,
		       struct err *why)
{
	if (ended)
		return err_say(why, EBADMSG, "it stands behind the end of the run");
	if (!*event)
		return err_say(why, EBADMSG, "it is no object with an event");
	if ((r->chain.lines == 1) != (strcmp(event, "start") == 0))
		return err_say(why, EBADMSG,
			       "a transcript begins with a start, and has one");
	return 0;
}

/* 1 where the line is good, 0 where it is not and r says so, or -errno of take */
static int take_line(struct read_transcript *r, bool *ended, const struct text *line,
		     read_transcript_take *take, void *arg, struct err *e)
{
	struct chain before = r->chain;
	cJSON *root = NULL;
	const char *event = "";
	int s = chain_check(&r->chain, text_string(line), line->length, &r->why);

	if (s == 0 && json_crowded(line->bytes, line->length))
		s = err_say(&r->why, EBADMSG, "it has more than %d values",
			    JSON_VALUES_MAX);
	if (s == 0) {
		root = json_parse(line->bytes, line->length);
		event = json_text(root, "event");
		s = check_event(r, *ended, event, &r->why);
	}
	if (s < 0) {
		r->chain = before;
		r->end = READ_TRANSCRIPT_CHANGED;
		cJSON_Delete(root);
		return 0;
	}
	*ended = strcmp(event, "end") == 0;
	r->steps += strcmp(event, "step") == 0;
	s = take ? take(arg, event, root, e) : 0;
	cJSON_Delete(root);
	return s < 0 ? s : 1;
}

/* the file's last bytes, without a newline: a line that was being written? */
static void look_at_rest(struct read_transcript *r, bool ended, const struct text *rest)
{
	cleanup_text struct text head = { 0 };
	struct chain chain = r->chain;
	struct err unheard;
	bool whole = rest->length > 1 && chain_check(&chain, text_string(rest),
						     rest->length - 1, &unheard) == 0;

	chain_head(&r->chain, &head);

	size_t both = head.length < rest->length ? head.length : rest->length;

	r->half = true;
	if (ended || whole || memcmp(text_string(&head), text_string(rest), both) != 0) {
		r->end = READ_TRANSCRIPT_CHANGED;
		(void)err_say(&r->why, EBADMSG, "it is no line that was being written");
	}
	for (size_t i = 0; i < rest->length; i++)
		if ((unsigned char)rest->bytes[i] < ' ' || rest->bytes[i] == 0x7f) {
			r->end = READ_TRANSCRIPT_CHANGED;
			(void)err_say(&r->why, EBADMSG, "it holds control bytes");
			return;
		}
}

/* 1 to go on, 0 where a line does not fit, or -errno of take */
static int take_piece(struct read_transcript *r, bool *ended, struct text *line,
		      const char *bytes, size_t length, read_transcript_take *take,
		      void *arg, struct err *e)
{
	while (length) {
		const char *end = memchr(bytes, '\n', length);
		size_t piece = end ? (size_t)(end - bytes) : length;

		text_add(line, bytes, piece);
		if (line->failed) {
			r->end = READ_TRANSCRIPT_CHANGED;
			(void)err_say(
				&r->why, E2BIG,
				"it is longer than the %zu MiB that a line may have",
				line->max >> 20);
			return 0;
		}
		if (end) {
			int s = take_line(r, ended, line, take, arg, e);

			if (s <= 0)
				return s;
			text_clear(line);
		}
		piece += end ? 1 : 0;
		bytes += piece;
		length -= piece;
	}
	return 1;
}

int read_transcript_run(int fd, read_transcript_take *take, void *arg,
			struct read_transcript *r, struct err *e)
{
	cleanup_text struct text line = { .max = TRANSCRIPT_LINE_MAX };
	char bytes[PIECE_BYTES];
	bool ended = false;
	ssize_t n = 0;
	int s = 1;

	*r = (struct read_transcript){ .end = READ_TRANSCRIPT_CUT };
	chain_begin(&r->chain);
	if (lseek(fd, 0, SEEK_SET) < 0)
		return err_set(e, errno, "the transcript");
	while (s == 1 && (n = io_read_all(fd, bytes, sizeof(bytes))) > 0)
		s = take_piece(r, &ended, &line, bytes, (size_t)n, take, arg, e);
	if (s < 0)
		return s;
	if (n < 0)
		return err_set(e, (int)-n, "the transcript");
	if (s == 1 && line.length)
		look_at_rest(r, ended, &line);
	else if (s == 1 && ended)
		r->end = READ_TRANSCRIPT_WHOLE;
	return 0;
}

void read_transcript_words(const struct read_transcript *r, const char *path,
			   struct text *out)
{
	text_printf(out, "%s: ", path);
	if (r->end == READ_TRANSCRIPT_CHANGED) {
		text_printf(out, "line %" PRIu64 " does not fit: %s", r->chain.lines + 1,
			    r->why.text);
		return;
	}
	if (r->end == READ_TRANSCRIPT_CUT) {
		text_printf(out, "reads up to line %" PRIu64 " (", r->chain.lines);
		text_count(out, r->steps, "step");
		text_printf(
			out,
			")%s, the end line is missing: the run was killed, or is still going on, or lines were cut off",
			r->half ? ", the next one is not finished" : "");
	} else {
		text_puts(out, "whole: ");
		text_count(out, r->chain.lines, "line");
		text_puts(out, ", ");
		text_count(out, r->steps, "step");
		text_printf(out, ", sha256 %s", r->chain.digest);
	}
}
