/* SPDX-License-Identifier: MIT */
/*
 * scripted.c - a model that reads its lines from a file
 *
 * For demos and tests: no language model is asked, no key and no network are needed. What
 * it "says" is run in a real jail and what the jail answers is real, so a script can drift
 * from reality; expect: lines are there to notice.
 *
 * The file is UTF-8, at most 1 MiB:
 *
 *	# Comments and empty lines may stand before the first turn.
 *	--- turn
 *	I will look at the file first.
 *	```python
 *	print(open("/work/in/a.csv").readline())
 *	```
 *	--- turn
 *	expect: species,island
 *	The columns are species and island.
 *
 *	--- turn	begins a reply; nothing else may be on the line
 *	expect: TEXT	must occur in the message that is being answered (the last
 *			observation; for the first turn, the task); any number of them,
 *			right behind the turn's line
 *	finish: length	the reply counts as cut off; also right behind the turn's line
 *	call: NAME	the reply is a call of this tool, and the text its arguments
 *
 * All further lines are the reply as it stands, empty lines at its end left out. A turn
 * with no text, a line before the first turn that is no comment, or too few turns is an
 * error.
 */

#include "agent/base/escape.h"
#include "agent/base/file.h"
#include "agent/base/utf8.h"
#include "agent/model/fence.h"
#include "agent/model/model.h"

#define SCRIPT_MAX ((size_t)1 << 20)
#define TURN "--- turn"
#define CUT_OFF "finish: length"

/* the next line begins so; gets what is behind that in it */
static bool next_is(const struct script *s, const char *word, struct span *behind)
{
	struct span rest = s->rest, line = span_line(&rest);
	size_t n = strlen(word);

	if (line.length < n || memcmp(line.at, word, n) != 0)
		return false;
	*behind = span_skip(line, n);
	return true;
}

static struct span next_line(struct script *s)
{
	s->line++;
	return span_line(&s->rest);
}

/* a turn's line is next, or the end */
static bool at_turn(const struct script *s)
{
	struct span behind;

	return !s->rest.length || (next_is(s, TURN, &behind) && fence_blank(behind));
}

int scripted_open(struct model *m, struct err *e)
{
	struct script *s = &m->script;

	s->text.max = SCRIPT_MAX;

	int r = file_read(s->path, "--model: the script ", &s->text, e);

	if (r < 0)
		return r;
	s->rest = (struct span){ text_string(&s->text), s->text.length };
	if (strlen(s->rest.at) != s->rest.length ||
	    !utf8_valid(s->rest.at, s->rest.length))
		return err_say(e, EILSEQ, "--model: the script %s is not UTF-8 text",
			       s->path);
	while (!at_turn(s)) {
		struct span line = next_line(s);

		if (!fence_blank(line) && line.at[0] != '#')
			return err_say(e, EINVAL,
				       "--model: %s:%zu: text before the first '" TURN
				       "' line; begin it with # to make it a comment",
				       s->path, s->line);
	}
	if (!s->rest.length)
		return err_say(e, EINVAL, "--model: %s holds no '" TURN "' line",
			       s->path);
	text_printf(&m->label, "model: scripted (");
	escape_line(&m->label, s->path, strlen(s->path));
	text_puts(&m->label, "), no language model is asked");
	return 0;
}

static int expect(const struct script *s, const struct chat *chat, struct span text,
		  struct err *e)
{
	cleanup_text struct text shown = { 0 };
	const char *last = chat->count ? chat->list[chat->count - 1].text : "";

	if (memmem(last, strlen(last), text.at, text.length))
		return 1;
	escape_name(&shown, last, utf8_floor(last, strlen(last), 200));
	return err_say(
		e, EPROTO,
		"%s:%zu: turn %zu expects '%.*s', which is not in the message that it answers; that begins: %s",
		s->path, s->line + 1, s->turn + 1, (int)text.length, text.at,
		text_string(&shown));
}

/* "expect: TEXT", "finish: length" and "call: NAME"; 1 where the next line is one of
 * them */
static int look_at_header(const struct script *s, const struct chat *chat,
			  struct reply *reply, struct err *e)
{
	struct span rest;
	cleanup_text struct text name = { 0 };

	if (next_is(s, CUT_OFF, &rest) && !rest.length) {
		reply->finish = FINISH_LENGTH;
		return 1;
	}
	if (next_is(s, "call: ", &rest) && rest.length) {
		text_add(&name, rest.at, rest.length);
		call_name(reply_call(reply, 0, ""), text_string(&name));
		return 1;
	}
	return next_is(s, "expect: ", &rest) && rest.length ? expect(s, chat, rest, e)
							    : 0;
}

int scripted_ask(struct model *m, const struct chat *chat, struct reply *reply,
		 struct err *e)
{
	struct script *s = &m->script;
	size_t turn_line = s->line + 1;
	struct span text;
	int r;

	m->usage.requests++;
	if (!s->rest.length)
		return err_say(e, EPROTO,
			       "the script %s ends before turn %zu, which was asked for",
			       s->path, s->turn + 1);
	reply->finish = FINISH_STOP;
	do
		(void)next_line(s);
	while ((r = look_at_header(s, chat, reply, e)) > 0);
	if (r < 0)
		return r;
	for (text = s->rest; !at_turn(s);)
		(void)next_line(s);
	text.length -= s->rest.length;
	while (text.length && strchr(" \t\r\n", text.at[text.length - 1]))
		text.length--;
	if (!text.length)
		return err_say(e, EINVAL, "%s:%zu: this turn has no text", s->path,
			       turn_line);
	text_add(reply->call_count ? &reply->calls[0].arguments : &reply->text, text.at,
		 text.length);
	if (!reply->call_count)
		text_puts(&reply->text, "\n");
	s->turn++;
	return 0;
}
