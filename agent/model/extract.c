/* SPDX-License-Identifier: MIT */
/*
 * extract.c - the code in a model's reply: see extract.h for the rules
 *
 * Theory of operation
 *   One pass over the lines. Outside a block, fence_opens() looks at a line; fence_body()
 *   looks for the block's end and hands back the lines between. What a block
 *   is good for is decided at the end: plain fences count only without
 *   Python.
 */

#include "agent/base/utf8.h"
#include "agent/model/extract.h"
#include "agent/model/fence.h"

/* lines outside a block that begin so are the model playing the agent's part */
static const char *const imitations[] = { "Output:", "Error:", "Observation:" };

struct scan {
	struct span rest; /* not looked at yet */
	struct extract found[BLOCK_KINDS];
	bool imitated;
	bool pretended;     /* the same, also before any block */
	struct text *words; /* gets lines outside of blocks, or NULL */
};

/* inside the tags a model may still write a fence: take it off */
static void unwrap(struct span *body, size_t *indent)
{
	struct span inner = *body;
	struct span line = { NULL, 0 };
	struct block b;

	while (inner.length && fence_blank(line))
		line = span_line(&inner);
	if (!line.at || !fence_opens(line, &b) || b.mark == '<')
		return;
	*body = inner;
	if (fence_body(&inner, line, &b, body))
		*indent = b.indent;
}

static void take_block(struct scan *s, struct block *b, struct span opening)
{
	struct span body;
	bool closed = fence_body(&s->rest, opening, b, &body);

	if (b->mark == '<')
		unwrap(&body, &b->indent);
	s->found[b->kind].blocks++;
	s->found[b->kind].closed = closed;
	fence_copy(body, b->indent, &s->found[b->kind].code);
}

static bool imitates(struct span line)
{
	size_t at = fence_indent(line, 0);

	while (at < line.length && strchr("*#_ ", line.at[at]) && line.at[at])
		at++; /* "**Output:**" */
	for (size_t i = 0; i < sizeof(imitations) / sizeof(imitations[0]); i++)
		if (fence_begins(span_skip(line, at), imitations[i]))
			return true;
	return false;
}

static void scan_reply(struct scan *s)
{
	while (s->rest.length) {
		struct span line = span_line(&s->rest);
		struct block b;

		if (fence_opens(line, &b)) {
			take_block(s, &b, line);
		} else if (imitates(line)) {
			s->pretended = true;
			s->imitated = s->found[BLOCK_PYTHON].blocks ||
				      s->found[BLOCK_PLAIN].blocks;
			if (s->imitated)
				return;
		} else if (s->words && !s->pretended) {
			text_add(s->words, line.at, line.length);
			text_puts(s->words, "\n");
		}
	}
}

enum extract_kind extract_kind(const struct text *code)
{
	struct span all = { text_string(code), code->length };

	if (code->failed)
		return EXTRACT_TOO_LONG;
	if (memchr(all.at, '\0', all.length) || !utf8_valid(all.at, all.length))
		return EXTRACT_NOT_TEXT;
	return fence_blank(all) ? EXTRACT_EMPTY : EXTRACT_CODE;
}

void extract_code(const char *reply, size_t length, struct extract *x, struct text *words)
{
	struct scan s = { .rest = { reply, length }, .words = words };
	struct extract *chosen = &s.found[BLOCK_PYTHON];

	*x = (struct extract){ .kind = EXTRACT_SILENCE, .closed = true };
	for (size_t i = 0; i < BLOCK_KINDS; i++)
		s.found[i].code.max = EXTRACT_CODE_MAX;
	if (fence_blank(s.rest))
		return;
	scan_reply(&s);
	if (!chosen->blocks)
		chosen = &s.found[BLOCK_PLAIN];
	x->kind = s.found[BLOCK_SHELL].blocks ? EXTRACT_SHELL : EXTRACT_ANSWER;
	if (chosen->blocks) {
		*x = *chosen;
		x->imitated = s.imitated;
		x->kind = extract_kind(&x->code);
		chosen->code = (struct text){ 0 };
	}
	for (size_t i = 0; i < BLOCK_KINDS; i++)
		text_free(&s.found[i].code);
}

static const char *const complaints[EXTRACT_KINDS] = {
	[EXTRACT_SILENCE] =
		"Your reply was empty. Send code to run, or the final answer.",
	[EXTRACT_EMPTY] = "Your code was empty, so nothing was run.",
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
