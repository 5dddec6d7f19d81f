/* SPDX-License-Identifier: MIT */
/*
 * repl_typed.c - what a person types: lines become statements. See repl.h
 */

#include "agent/model/extract.h"
#include "agent/repl/pieces.h"
#include "agent/repl/repl.h"

static int take_typed(struct repl *r, const struct text *line, struct err *e);

/* the next statement begins: the one before it, of so many bytes, is whole */
static int run_held(struct repl *r, size_t length, const struct text *line, struct err *e)
{
	int s = repl_code(r, r->typed.bytes, length, e);

	text_clear(&r->typed);
	r->held = false;
	return s < 0 || r->quitting ? s : take_typed(r, line, e);
}

static int take_typed(struct repl *r, const struct text *line, struct err *e)
{
	cleanup_text struct text marks = { 0 };
	const char *begins = text_string(line) + strspn(text_string(line), " \t\f\r");
	struct text *typed = &r->typed;

	if (!typed->length && line->length && line->bytes[0] == ':')
		return repl_command(r, line->bytes, line->length, e);
	if (!typed->length && (!*begins || *begins == '#'))
		return 0;
	/* as in Python 3.13 */
	if (!typed->length &&
	    (strcmp(begins, "exit") == 0 || strcmp(begins, "quit") == 0)) {
		r->quitting = true;
		return 0;
	}

	size_t before = typed->length;

	text_add(typed, text_string(line), line->length);
	text_puts(typed, "\n");

	int s = text_check(typed, "what was typed", e);

	/* one that is too long is not run, whole or not */
	if (s == 0 && typed->length <= EXTRACT_CODE_MAX)
		s = repl_marks(r, typed->bytes, typed->length, &marks, e);
	if (s == 0 && before && r->held && marks.length > 1 &&
	    marks.bytes[marks.length - 2] == PIECES_BEGIN)
		return run_held(r, before, line, e);
	if (s == 0 && marks.length && marks.bytes[marks.length - 1] != PIECES_BEGIN)
		return 0;
	/* an empty line within a function that was pasted does not end it */
	r->held = s == 0 && before && !*begins && lines_waiting();
	if (r->held)
		return 0;
	if (s == 0)
		s = repl_code(r, typed->bytes, typed->length, e);
	text_clear(typed);
	return s;
}

int repl_typed(struct repl *r, struct err *e)
{
	cleanup_text struct text line = { 0 };
	char prompt[REPL_NAME_BYTES + 32];
	const uint32_t branch = r->session.branch;

	(void)snprintf(prompt, sizeof(prompt), "[%s%s%" PRIu32 "]%s ",
		       branch ? r->branches[branch].name : "", branch ? " " : "",
		       r->session.state, r->typed.length ? "..." : ">>>");

	int s = lines_read(&r->lines, prompt, &line, e);

	if (s > 0)
		s = take_typed(r, &line, e);
	if (s != -ECANCELED)
		return s;
	text_clear(&r->typed);
	return 0;
}
