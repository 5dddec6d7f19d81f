/* SPDX-License-Identifier: MIT */
/*
 * extract.c - the code in a model's reply: see extract.h for the rules
 *
 * Theory of operation
 *   One pass over the lines. Outside a block, fence_opens() looks at a line; fence_body()
 *   looks for the block's end and hands back the lines between. What a block
 *   is good for is decided at the end, in choose(): plain fences count only without
 *   Python.
 */
#include <errno.h>
#include <string.h>

#include "agent/base/utf8.h"
#include "agent/model/extract.h"
#include "agent/model/fence.h"

/* lines outside a block that begin so are the model playing the agent's part */
static const char *const imitations[] = { "Output:", "Error:", "Observation:" };

struct scan {
	struct span rest; /* not looked at yet */
	bool follow_strings;
	struct text code[BLOCK_KINDS];
	size_t blocks[BLOCK_KINDS];
	bool open[BLOCK_KINDS]; /* the last block of the kind has no end */
	bool imitated;
	bool pretended;     /* the same, also before any block */
	struct text *words; /* gets lines outside of blocks, or NULL */
};

/* a block's lines without its indentation, CRLF as LF */
static void add_lines(struct text *code, struct span body, size_t indent)
{
	while (body.length) {
		struct span line = fence_line(&body);
		size_t drop = fence_indent(line, 0);

		if (drop > indent)
			drop = indent;
		text_add(code, line.at + drop, line.length - drop);
		text_puts(code, "\n");
	}
}

/* the line break behind the opening tag is not the code's first line */
static void drop_blank_line(struct span *body)
{
	struct span probe = *body;

	if (body->length && fence_indent(*body, 0) < body->length &&
	    fence_blank(fence_line(&probe)))
		*body = probe;
}

/* inside the tags a model may still write a fence: take it off */
static void unwrap(struct span *body, size_t *indent)
{
	struct span inner = *body;
	struct span line = { NULL, 0 };
	bool follow_strings = true;
	struct block b;

	while (inner.length && fence_blank(line))
		line = fence_line(&inner);
	if (!line.at || !fence_opens(line, &b) || b.mark == '<')
		return;
	*body = inner;
	if (fence_body(&inner, line, &b, &follow_strings, body))
		*indent = b.indent;
}

static void take_block(struct scan *s, struct block *b, struct span opening)
{
	struct span body;
	bool closed = fence_body(&s->rest, opening, b, &s->follow_strings, &body);

	if (b->mark == '<') {
		unwrap(&body, &b->indent);
		drop_blank_line(&body);
	}
	s->blocks[b->kind]++;
	s->open[b->kind] = !closed;
	add_lines(&s->code[b->kind], body, b->indent);
}

static bool imitates(struct span line)
{
	size_t at = fence_indent(line, 0);

	while (at < line.length && strchr("*#_ ", line.at[at]) && line.at[at])
		at++; /* "**Output:**" */
	for (size_t i = 0; i < sizeof(imitations) / sizeof(imitations[0]); i++)
		if (fence_begins((struct span){ line.at + at, line.length - at },
				 imitations[i]))
			return true;
	return false;
}

static void scan_reply(struct scan *s)
{
	while (s->rest.length) {
		struct span line = fence_line(&s->rest);
		struct block b;

		if (fence_opens(line, &b)) {
			take_block(s, &b, line);
		} else if (imitates(line)) {
			s->pretended = true;
			s->imitated = s->blocks[BLOCK_PYTHON] || s->blocks[BLOCK_PLAIN];
			if (s->imitated)
				return;
		} else if (s->words && !s->pretended) {
			text_add(s->words, line.at, line.length);
			text_puts(s->words, "\n");
		}
	}
}

static enum extract_kind choose(struct scan *s, struct extract *x)
{
	enum block_kind kind = s->blocks[BLOCK_PYTHON] ? BLOCK_PYTHON : BLOCK_PLAIN;

	if (!s->blocks[kind])
		return s->blocks[BLOCK_SHELL] ? EXTRACT_SHELL : EXTRACT_ANSWER;
	x->code = s->code[kind];
	s->code[kind] = (struct text){ 0 };
	x->blocks = s->blocks[kind];
	x->closed = !s->open[kind];
	x->imitated = s->imitated;
	if (x->code.failed)
		return EXTRACT_TOO_LONG;
	if (memchr(text_string(&x->code), '\0', x->code.length) ||
	    !utf8_valid(text_string(&x->code), x->code.length))
		return EXTRACT_NOT_TEXT;
	return fence_blank((struct span){ text_string(&x->code), x->code.length })
		       ? EXTRACT_EMPTY
		       : EXTRACT_CODE;
}

void extract_code(const char *reply, size_t length, struct extract *x)
{
	struct scan s = { .rest = { reply, length }, .follow_strings = true };

	*x = (struct extract){ .closed = true };
	for (size_t i = 0; i < BLOCK_KINDS; i++)
		s.code[i].max = EXTRACT_CODE_MAX;
	if (fence_blank(s.rest)) {
		x->kind = EXTRACT_SILENCE;
		return;
	}
	scan_reply(&s);
	x->kind = choose(&s, x);
	for (size_t i = 0; i < BLOCK_KINDS; i++)
		text_free(&s.code[i]);
}

int extract_words(const char *reply, size_t length, struct text *words, bool *pretended,
		  struct err *e)
{
	struct scan s = { .rest = { reply, length },
			  .follow_strings = true,
			  .words = words };

	for (size_t i = 0; i < BLOCK_KINDS; i++)
		s.code[i].max = EXTRACT_CODE_MAX;
	scan_reply(&s);
	*pretended = s.pretended;
	for (size_t i = 0; i < BLOCK_KINDS; i++)
		text_free(&s.code[i]);
	return text_check(words, "the words of a reply", e);
}

static const char *const complaints[EXTRACT_KINDS] = {
	[EXTRACT_SILENCE] =
		"Your reply was empty. Send code to run, or the final answer.",
	[EXTRACT_EMPTY] = "The code block in your reply was empty, so nothing was run.",
	[EXTRACT_SHELL] =
		"Your reply held shell commands. There is no shell here: only Python in a ```python block is run. Nothing was run.",
	[EXTRACT_NOT_TEXT] =
		"Your code held a NUL byte or bytes that are not UTF-8. Nothing was run; send the code as plain text.",
	[EXTRACT_TOO_LONG] =
		"Your code was longer than 256 KiB. Nothing was run; send less at a time.",
};

const char *extract_complaint(enum extract_kind kind)
{
	return complaints[kind];
}
