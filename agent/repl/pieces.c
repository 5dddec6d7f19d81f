/* SPDX-License-Identifier: MIT */
/*
 * pieces.c - where statements begin: see pieces.h
 */

#include "agent/base/source.h"
#include "agent/repl/pieces.h"

SOURCE(pieces_source, SOURCE_FILE("agent/repl/pieces.py"));

int pieces_ask(struct session *s, const char *text, size_t length, bool script,
	       struct text *marks, struct err *e)
{
	cleanup_text struct text code = { 0 };
	size_t lines = 0;

	for (size_t i = 0; i < length; i++)
		lines += text[i] == '\n';
	text_clear(marks);
	marks->max = lines + 1;

	text_printf(&code, "%s\nsay('", pieces_source);
	text_base64(&code, text, length);
	text_printf(&code, "', %s)\n", script ? "True" : "False");

	int r = text_check(&code, "a script", e);

	if (r == 0)
		r = session_aside(s, code.bytes, code.length, marks, e);
	if (r == 0 && (marks->failed || marks->length != lines + 1))
		r = err_say(
			e, EBADMSG,
			"the jail did not tell where statements begin; what is there is run as one");
	if (r == 0)
		return 0;
	text_clear(marks);
	for (size_t i = 0; i <= lines; i++)
		text_puts(marks, i == 0 || i == lines ? "b" : ".");
	return marks->failed ? text_check(marks, "a script", e) : r;
}

size_t pieces_next(const char **mark, const char *text, size_t length)
{
	const char *at = text;

	do {
		at = (const char *)memchr(at, '\n', length - (size_t)(at - text)) + 1;
		(*mark)++;
	} while (at < text + length && **mark != PIECES_BEGIN);
	return (size_t)(at - text);
}
