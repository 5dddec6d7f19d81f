/* SPDX-License-Identifier: MIT */
/*
 * statement.c - lines put together to statements: see statement.h
 */
#include <ctype.h>
#include <string.h>

#include "agent/repl/statement.h"

/* what has a block, and what goes on with one */
static const char *const openers[] = { "if",   "for", "while", "try",
				       "with", "def", "class", "async" };
static const char *const carriers[] = { "else", "elif", "except", "finally" };

static bool begins_with_one(const char *line, size_t length, const char *const *words,
			    size_t count)
{
	size_t word = 0;

	while (word < length && (isalnum((unsigned char)line[word]) || line[word] == '_'))
		word++;
	for (size_t i = 0; i < count; i++)
		if (strlen(words[i]) == word && memcmp(words[i], line, word) == 0)
			return true;
	return false;
}

static bool is_blank(const char *line, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (line[i] != ' ' && (line[i] < '\t' || line[i] > '\r'))
			return false;
	return true;
}

void statement_clear(struct statement *s)
{
	text_clear(&s->lines);
	s->lex = (struct pylex){ 0 };
	s->compound = false;
	s->decorated = false;
}

void statement_free(struct statement *s)
{
	text_free(&s->lines);
}

bool statement_empty(const struct statement *s)
{
	struct pylex lex = { 0 };
	const char *at = text_string(&s->lines);

	while (*at) {
		size_t line = strcspn(at, "\n");

		(void)pylex_line(&lex, at, line);
		if (lex.last || lex.quote)
			return false;
		at += line + (at[line] ? 1 : 0);
	}
	return true;
}

bool statement_begins(const struct statement *s, const char *line, size_t length)
{
	if (!s->lines.length || pylex_open(&s->lex) || is_blank(line, length))
		return false;
	if (strchr(" \t#", line[0]) || s->decorated)
		return false;
	return !(s->compound && begins_with_one(line, length, carriers, COUNT(carriers)));
}

bool statement_add(struct statement *s, const char *line, size_t length)
{
	bool open = pylex_open(&s->lex);
	bool blank = is_blank(line, length);

	text_add(&s->lines, line, length);
	text_puts(&s->lines, "\n");
	(void)pylex_line(&s->lex, line, length);
	if (!open && !blank) {
		s->decorated = line[0] == '@';
		s->compound = s->compound || s->decorated ||
			      begins_with_one(line, length, openers, COUNT(openers));
	}
	if (pylex_open(&s->lex))
		return false;
	/* match x:, and whatever else has a block */
	s->compound = s->compound || s->lex.last == ':';
	return !s->compound || (blank && !open);
}
