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
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/escape.h"
#include "agent/base/file.h"
#include "agent/base/memory.h"
#include "agent/base/utf8.h"
#include "agent/model/model.h"

#define SCRIPT_MAX ((size_t)1 << 20)
#define TURN "--- turn"

struct script {
	struct text text;   /* the whole file */
	const char *at;     /* the next turn's line, or the end */
	size_t line;        /* of @at, from 1 */
	size_t turn;        /* turns that were spoken */
	unsigned int calls; /* ids that were made up for them */
	struct call *call;  /* of the turn that is being read */
};

static bool is_turn(const char *line)
{
	size_t n = strlen(TURN);

	if (strncmp(line, TURN, n) != 0)
		return false;
	while (line[n] == ' ' || line[n] == '\t' || line[n] == '\r')
		n++;
	return line[n] == '\n' || !line[n];
}

static void next_line(struct script *s)
{
	s->at += strcspn(s->at, "\n");
	if (*s->at) {
		s->at++;
		s->line++;
	}
}

static int read_script(struct script *s, const char *path, struct err *e)
{
	int r;

	s->text.max = SCRIPT_MAX;
	r = file_read(path, "--model: the script ", &s->text, e);
	if (r < 0)
		return r;
	s->at = text_string(&s->text);
	if (strlen(s->at) != s->text.length || !utf8_valid(s->at, s->text.length))
		return err_say(e, EILSEQ, "--model: the script %s is not UTF-8 text",
			       path);
	return 0;
}

static int scripted_open(struct model *m, struct err *e)
{
	const char *path = m->plan->argument;
	struct script *s = memory_zeroed(1, sizeof(*s));

	m->state = s;

	int r = read_script(s, path, e);

	if (r < 0)
		return r;
	s->line = 1;
	while (*s->at && !is_turn(s->at)) {
		if (*s->at != '#' && s->at[strspn(s->at, " \t\r")] != '\n' &&
		    s->at[strspn(s->at, " \t\r")])
			return err_say(e, EINVAL,
				       "--model: %s:%zu: text before the first '" TURN
				       "' line; begin it with # to make it a comment",
				       path, s->line);
		next_line(s);
	}
	if (!*s->at)
		return err_say(e, EINVAL, "--model: %s holds no '" TURN "' line", path);
	text_printf(&m->label, "model: scripted (");
	escape_line(&m->label, path, strlen(path));
	text_puts(&m->label, "), no language model is asked");
	return 0;
}

/* "expect: TEXT", "finish: length" and "call: NAME"; 1 where the line was one of them */
static int take_header(struct model *m, const struct chat *chat, struct reply *reply,
		       struct err *e)
{
	struct script *s = m->state;
	size_t length = strcspn(s->at, "\r\n");

	if (length == 14 && strncmp(s->at, "finish: length", length) == 0) {
		reply->finish = FINISH_LENGTH;
		return 1;
	}
	if (length > 6 && strncmp(s->at, "call: ", 6) == 0) {
		cleanup_text struct text name = { 0 };

		text_add(&name, s->at + 6, length - 6);
		s->call = reply_call(reply, 0, "");
		call_name(s->call, text_string(&name));
		return 1;
	}
	if (length <= 8 || strncmp(s->at, "expect: ", 8) != 0)
		return 0;

	const char *last = chat_last(chat);

	if (memmem(last, strlen(last), s->at + 8, length - 8))
		return 1;

	cleanup_text struct text shown = { 0 };

	escape_name(&shown, last, utf8_floor(last, strlen(last), 200));
	return err_say(
		e, EPROTO,
		"%s:%zu: turn %zu expects '%.*s', which the message it answers does not hold; that begins: %s",
		m->plan->argument, s->line, s->turn + 1, (int)length - 8, s->at + 8,
		text_string(&shown));
}

static int scripted_ask(struct model *m, const struct chat *chat, uint64_t deadline_ms,
			struct reply *reply, struct err *e)
{
	struct script *s = m->state;
	int r = 1;

	(void)deadline_ms;
	m->usage.requests++;
	if (!*s->at)
		return err_say(
			e, EPROTO,
			"the script %s ends after %zu turns, and one more was asked for",
			m->plan->argument, s->turn);

	size_t turn_line = s->line;

	next_line(s);
	reply->finish = FINISH_STOP;
	s->call = NULL;
	while (r > 0 && *s->at) {
		r = take_header(m, chat, reply, e);
		if (r > 0)
			next_line(s);
	}
	if (r < 0)
		return r;

	const char *start = s->at;

	while (*s->at && !is_turn(s->at))
		next_line(s);

	size_t length = (size_t)(s->at - start);

	while (length && strchr(" \t\r\n", start[length - 1]))
		length--;
	if (!length)
		return err_say(e, EINVAL, "%s:%zu: this turn has no text",
			       m->plan->argument, turn_line);
	text_add(s->call ? &s->call->arguments : &reply->text, start, length);
	text_puts(&reply->text, s->call ? "" : "\n");
	reply_end(reply, &s->calls);
	s->turn++;
	return 0;
}

static void scripted_close(struct model *m)
{
	struct script *s = m->state;

	if (s)
		text_free(&s->text);
	free(s);
	m->state = NULL;
}

const struct model_ops scripted_ops = {
	.name = "scripted",
	.argument = "FILE",
	.open = scripted_open,
	.ask = scripted_ask,
	.close = scripted_close,
};
