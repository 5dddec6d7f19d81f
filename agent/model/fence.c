/* SPDX-License-Identifier: MIT */
/*
 * fence.c - where a block of code begins and ends: see fence.h
 */
#include <strings.h>

#include "agent/model/fence.h"

#define TAG_CLOSE "</execute_python>"
#define KIND_WORDS 8
#define VERSION "0123456789."
#define WORD_ENDS " \t\r,:;}="
#define STRING_MOST ((ptrdiff_t)256 << 10) /* as much code as is run */

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

/* how many of these characters there are at @from */
static size_t run(struct span s, size_t from, const char *of)
{
	size_t n = 0;

	while (from + n < s.length && s.at[from + n] && strchr(of, s.at[from + n]))
		n++;
	return n;
}

size_t fence_indent(struct span s, size_t from)
{
	return run(s, from, " \t");
}

bool fence_blank(struct span s)
{
	return run(s, 0, " \t\r\n\f\v") == s.length;
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
	size_t digits = run(s, from, "0123456789");
	size_t at = from + digits;

	if (!run(s, at, digits ? ".)" : "-*+"))
		return 0;
	at++;

	size_t gap = fence_indent(s, at);

	return gap ? at + gap - from : 0;
}

static enum block_kind kind_of(struct span info)
{
	/* in "{.python}", "{python}", too */
	struct span word = span_skip(info, run(info, 0, " \t{."));

	if (!word.length || strchr(WORD_ENDS, word.at[0]))
		return BLOCK_PLAIN;
	for (size_t i = 0; i < COUNT(kinds); i++)
		for (size_t k = 0; k < KIND_WORDS && kinds[i].words[k]; k++) {
			size_t end = strlen(kinds[i].words[k]);

			end += run(word, end, VERSION); /* "python3.11" */
			if (fence_begins(word, kinds[i].words[k]) &&
			    (end == word.length || strchr(WORD_ENDS, word.at[end])))
				return kinds[i].kind;
		}
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

	size_t ticks = run(line, at, "`");
	size_t count = ticks ? ticks : run(line, at, "~");

	if (count < 3)
		return false;

	struct span info = span_skip(line, at + count);

	/* "```x = 1```" on one line is code in a sentence, not a block */
	if (ticks && memchr(info.at, '`', info.length))
		return false;
	*b = (struct block){ kind_of(info), line.at[at], count, at };
	return true;
}

/* a line of nothing but the mark, at least as often as at the start */
static bool fence_closes(struct span line, const struct block *b)
{
	size_t at = fence_indent(line, 0);
	size_t count = run(line, at, b->mark == '`' ? "`" : "~");

	return at <= b->indent + 3 && count >= b->mark_count &&
	       fence_blank(span_skip(line, at + count));
}

/* the quote of Python's strings over more lines than one that is open behind a line, 0
 * where none is; @open: the same of the line before */
static char quote_open(struct span line, char open)
{
	for (size_t i = 0; i + 2 < line.length; i++) {
		char c = line.at[i];

		if ((open ? c == open : c == '"' || c == '\'') && line.at[i + 1] == c &&
		    line.at[i + 2] == c) {
			open = open ? 0 : c;
			i += 2;
		}
	}
	return open;
}

/* Up to the fence's end; false where there is none: then the block is all the rest.
 * @code: a fence in a string ends nothing, but where the string has no end either */
static bool fence_end(struct span *from, const struct block *b, bool code,
		      struct span *body)
{
	struct span rest = *from;
	char open = 0;

	while (rest.length && !(code && rest.at - from->at > STRING_MOST)) {
		const char *start = rest.at;
		struct span line = span_line(&rest);

		open = code ? quote_open(line, open) : 0;
		if (open || !fence_closes(line, b))
			continue;
		*body = (struct span){ from->at, (size_t)(start - from->at) };
		*from = rest;
		return true;
	}
	if (code)
		return fence_end(from, b, false, body);
	*body = *from;
	*from = (struct span){ rest.at, 0 };
	return false;
}

/* "print(1)```" at the very end: the model closed the fence, though not on its own line
 */
static bool ends_in_mark(struct span *body, const struct block *b)
{
	size_t end = body->length, count = 0;

	while (end && fence_blank((struct span){ body->at + end - 1, 1 }))
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
		struct span *body)
{
	size_t skip = b->indent + strlen(FENCE_TAG);
	const char *behind = opening.at + skip;

	if (b->mark != '<')
		return fence_end(rest, b, b->kind <= BLOCK_PLAIN, body) ||
		       ends_in_mark(body, b);
	if (!fence_blank(span_skip(opening, skip)))
		*rest = (struct span){ behind,
				       (size_t)(rest->at - behind) + rest->length };
	return tag_end(rest, body);
}
