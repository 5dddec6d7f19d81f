/* SPDX-License-Identifier: MIT */
/*
 * complete.c - what Tab may make of a word: the jail's own Python is asked. See repl.h
 *
 * complete.py runs in a fork of the session that is thrown away, for a second at most.
 * Its answer is hostile: names that are none, or not what was asked for, are left out.
 */

#include "agent/base/source.h"
#include "agent/repl/repl.h"

#define PEEK_MS 1000
#define NAME_MOST 50

SOURCE(complete_source, SOURCE_FILE("agent/repl/complete.py"));

static void peek(struct repl *r, const char *word, size_t length)
{
	const struct session_plan plan = r->plan;
	cleanup_text struct text code = { 0 };
	struct err unheard;

	text_printf(&code, "%s\n\ncomplete('%.*s')\n", complete_source, (int)length,
		    word);
	r->plan.step_ms = PEEK_MS;
	r->plan.heard = NULL;
	clip_clear(&r->peeked.out);
	/* a session that is gone is found to be so by the next statement */
	(void)session_peek(&r->session, text_string(&code), code.length, &r->peeked,
			   &unheard);
	r->plan = plan;
	/* replay has to use up a state's number, too */
	(void)repl_record(r, "complete", SESSION_PEEK, r->session.state, NULL, &unheard);
}

void repl_complete(void *arg, const char *line, size_t length, struct text *names)
{
	struct repl *r = arg;
	cleanup_text struct text head = { 0 }, tail = { 0 };
	const char *word = line + length;

	while (word > line && strchr(TEXT_WORD ".", word[-1]))
		word--;
	length -= (size_t)(word - line);
	if (!r->typed.length && word == line + 1 && *line == ':') {
		repl_names(word, length, names);
		return;
	}
	if (!length || length > ESCAPE_NAME_MAX)
		return;
	peek(r, word, length);

	const char *part = memrchr(word, '.', length);
	size_t n = part ? length - (size_t)(++part - word) : length;

	part = part ? part : word;
	(void)clip_take(&r->peeked.out, &head, &tail);
	text_add(&head, tail.bytes, tail.length);
	for (const char *at = text_string(&head); *at;) {
		size_t name = strspn(at, TEXT_WORD);

		if (at[name] == '\n' && name >= n && name <= NAME_MOST &&
		    strncmp(at, part, n) == 0)
			text_add(names, at, name + 1);
		at += strcspn(at, "\n");
		at += *at == '\n';
	}
}
