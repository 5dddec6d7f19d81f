/* SPDX-License-Identifier: MIT */
/*
 * fence.c - where a block of code begins and ends: see fence.h
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "agent/model/fence.h"

#define TAG_CLOSE "</execute_python>"
#define KIND_WORDS 8
#define WORD_BYTES 64
#define VERSION "0123456789."

/* the first word behind a fence, in any case, a version behind it left out */
static const struct {
	enum block_kind kind;
	const char *words[KIND_WORDS];
} kinds[] = {
	{ BLOCK_PYTHON,
	  { "python", "py", "ipython", "cpython", "execute_python", "tool_code" } },
	{ BLOCK_SHELL,
	  { "bash", "sh", "shell", "zsh", "console", "shell-session", "powershell",
	    "cmd" } },
};

static bool triple_at(const char *at, size_t left, char quote)
{
	return left >= 3 && at[0] == quote && at[1] == quote && at[2] == quote;
}

/* characters inside a string; returns how many were taken */
static size_t in_string(struct pylex *lex, const char *at, size_t left)
{
	if (*at == '\\')
		return 2;
	if (lex->quote && triple_at(at, left, lex->quote)) {
		lex->quote = 0;
		return 3;
	}
	if (lex->one_line && *at == lex->one_line)
		lex->one_line = 0;
	return 1;
}

static size_t in_code(struct pylex *lex, const char *at, size_t left)
{
	bool triple = triple_at(at, left, *at);

	if (*at != '\'' && *at != '"')
		return 1;
	*(triple ? &lex->quote : &lex->one_line) = *at;
	return triple ? 3 : 1;
}

bool pylex_line(struct pylex *lex, const char *line, size_t length)
{
	size_t i = 0;

	while (i < length) {
		bool inside = lex->quote || lex->one_line;

		if (!inside && (line[i] == '#' || line[i] == '\0'))
			break; /* a comment; a NUL is for Python to refuse */
		i += (inside ? in_string : in_code)(lex, line + i, length - i);
	}
	/* only a backslash at its end, which takes the newline with it, carries it on */
	if (i <= length)
		lex->one_line = 0;
	return lex->quote != 0;
}

size_t fence_indent(struct span s, size_t from)
{
	size_t n = 0;

	while (from + n < s.length && (s.at[from + n] == ' ' || s.at[from + n] == '\t'))
		n++;
	return n;
}

bool fence_blank(struct span s)
{
	for (size_t i = 0; i < s.length; i++)
		if (!strchr(" \t\r\n\f\v", s.at[i]) || !s.at[i])
			return false;
	return true;
}

bool fence_begins(struct span s, const char *with)
{
	size_t n = strlen(with);

	return s.length >= n && strncasecmp(s.at, with, n) == 0;
}

void fence_copy(struct span lines, size_t indent, struct text *to)
{
	while (lines.length) {
		struct span line = span_line(&lines);
		size_t drop = fence_indent(line, 0);

		if (drop > indent)
			drop = indent;
		text_add(to, line.at + drop, line.length - drop);
		text_puts(to, "\n");
	}
}

/* "- ", "* ", "12. ": how many columns a list bullet takes at @from */
static size_t bullet(struct span s, size_t from)
{
	size_t at = from, gap;

	while (at < s.length && s.at[at] >= '0' && s.at[at] <= '9')
		at++;
	if (at >= s.length || !s.at[at] || !strchr(at > from ? ".)" : "-*+", s.at[at]))
		return 0;
	at++;
	gap = fence_indent(s, at);
	return gap ? at + gap - from : 0;
}

static enum block_kind kind_of(struct span info)
{
	char text[WORD_BYTES];
	char *word = text; /* in "{.python}", "{python}", too */

	info = span_skip(info, fence_indent(info, 0));
	(void)snprintf(text, sizeof(text), "%.*s",
		       (int)(info.length < WORD_BYTES ? info.length : WORD_BYTES),
		       info.at);
	word += strspn(word, " \t{.");
	word[strcspn(word, " \t\r,:;}=")] = '\0';
	if (!*word)
		return BLOCK_PLAIN;
	for (char *end = strchr(word, '\0'); end > word && strchr(VERSION, end[-1]);)
		*--end = '\0'; /* "python3.11" */
	for (size_t i = 0; i < COUNT(kinds); i++)
		for (size_t k = 0; k < KIND_WORDS && kinds[i].words[k]; k++)
			if (strcasecmp(kinds[i].words[k], word) == 0)
				return kinds[i].kind;
	return BLOCK_OTHER;
}

bool fence_opens(struct span line, struct block *b)
{
	size_t at = fence_indent(line, 0);

	if (fence_begins(span_skip(line, at), FENCE_TAG)) {
		*b = (struct block){ BLOCK_PYTHON, '<', 1, at };
		return true;
	}
	at += bullet(line, at);
	if (at >= line.length || (line.at[at] != '`' && line.at[at] != '~'))
		return false;

	size_t count = 0;

	while (at + count < line.length && line.at[at + count] == line.at[at])
		count++;
	if (count < 3)
		return false;

	struct span info = span_skip(line, at + count);

	/* "```x = 1```" on one line is code in a sentence, not a block */
	if (line.at[at] == '`' && memchr(info.at, '`', info.length))
		return false;
	*b = (struct block){ kind_of(info), line.at[at], count, at };
	return true;
}

/* a line of nothing but the mark, at least as often as at the start */
static bool fence_closes(struct span line, const struct block *b)
{
	size_t at = fence_indent(line, 0);
	size_t count = 0;

	if (at > b->indent + 3)
		return false;
	while (at + count < line.length && line.at[at + count] == b->mark)
		count++;
	return count >= b->mark_count && fence_blank(span_skip(line, at + count));
}

/* up to the fence's end; false where there is none: then the block is all the rest */
static bool fence_end(struct span *from, const struct block *b, bool *follow_strings,
		      struct span *body)
{
	struct span rest = *from;
	/* body up to the first end, in a string or not */
	struct span first = { NULL, 0 };
	struct span after_first = { NULL, 0 };
	struct pylex lex = { 0 };
	bool follow = *follow_strings && b->kind != BLOCK_OTHER;
	bool in_string = false;

	while (rest.length) {
		const char *start = rest.at;
		struct span line = span_line(&rest);

		if (fence_closes(line, b)) {
			*body = (struct span){ from->at, (size_t)(start - from->at) };
			if (!in_string) {
				*from = rest;
				return true;
			}
			if (!first.at) {
				first = *body;
				after_first = rest;
			}
		}
		if (follow)
			in_string = pylex_line(&lex, line.at, line.length);
	}
	if (first.at) {
		*follow_strings = false;
		*body = first;
		*from = after_first;
		return true;
	}
	*body = *from;
	*from = (struct span){ rest.at, 0 };
	return false;
}

/* "print(1)```" at the very end: the model closed the fence, though not on its own line
 */
static bool ends_in_mark(struct span *body, const struct block *b)
{
	size_t end = body->length, count = 0;

	while (end && strchr(" \t\r\n", body->at[end - 1]) && body->at[end - 1])
		end--;
	while (count < b->mark_count && count < end &&
	       body->at[end - 1 - count] == b->mark)
		count++;
	if (count < b->mark_count)
		return false;
	body->length = end - count;
	return true;
}

/* nothing behind the tag in its line counts */
static bool tag_end(struct span *from, struct span *body)
{
	const char *end = memmem(from->at, from->length, TAG_CLOSE, strlen(TAG_CLOSE));

	*body = *from;
	if (end)
		body->length = (size_t)(end - from->at);
	*from = span_skip(*from, body->length);
	(void)span_line(from);
	return end;
}

bool fence_body(struct span *rest, struct span opening, const struct block *b,
		bool *follow_strings, struct span *body)
{
	size_t skip = b->indent + strlen(FENCE_TAG);
	const char *behind = opening.at + skip;

	if (b->mark != '<')
		return fence_end(rest, b, follow_strings, body) || ends_in_mark(body, b);
	if (!fence_blank(span_skip(opening, skip)))
		*rest = (struct span){ behind,
				       (size_t)(rest->at - behind) + rest->length };
	return tag_end(rest, body);
}
