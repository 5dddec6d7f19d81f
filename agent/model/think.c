/* SPDX-License-Identifier: MIT */
/*
 * think.c - a model's thinking in its reply: see think.h for the rules
 *
 * Theory of operation
 *   One pass over the lines, as extract.c makes it. A block is kept whole, whatever is in
 *   it; in other lines tags are looked for. What is behind a thought begins a line of its
 *   own, so that two halves make no fence.
 */

#include "agent/model/fence.h"
#include "agent/model/think.h"

static const char *const names[] = { "think>", "thinking>", "reasoning>" };

struct tag {
	const char *name;
	bool closing;
	const char *end; /* behind it */
};

struct scan {
	struct span rest;
	const char *line_end; /* behind the newline of the last line that was looked at */
	struct text kept;
	struct text *thoughts;
	bool found; /* a tag, if nothing else */
};

/* a tag at the beginning of a text */
static bool is_tag(struct span s, struct tag *tag)
{
	bool closing = s.length > 1 && s.at[1] == '/';
	struct span name = span_skip(s, 1 + closing);

	for (size_t i = 0; s.length && s.at[0] == '<' && i < COUNT(names); i++)
		if (fence_begins(name, names[i])) {
			*tag = (struct tag){ names[i], closing,
					     name.at + strlen(names[i]) };
			return true;
		}
	return false;
}

/* the first tag in a text, or the first closing one of a name; NULL for none */
static const char *find_tag(struct span s, const char *closes, struct tag *tag)
{
	const char *end = s.at + s.length;

	for (const char *at = s.at; (at = memchr(at, '<', (size_t)(end - at))); at++) {
		if (!is_tag((struct span){ at, (size_t)(end - at) }, tag))
			continue;
		if (closes && tag->closing && tag->name == closes)
			return at;
		if (!closes &&
		    (at == s.at || at[-1] != '`' || tag->end == end || *tag->end != '`'))
			return at;
	}
	return NULL;
}

/* a line that begins with a tag */
static bool begins_with_tag(struct span line, struct tag *tag)
{
	return is_tag(span_skip(line, fence_indent(line, 0)), tag);
}

/* a closing tag in a block's lines that no line in them opened */
static bool is_draft(struct span body)
{
	size_t open = 0;

	while (body.length) {
		struct tag tag;

		if (!begins_with_tag(span_line(&body), &tag))
			continue;
		if (tag.closing && !open)
			return true;
		open += tag.closing ? -(size_t)1 : 1;
	}
	return false;
}

/* behind the last line of a text that begins with a closing tag */
static struct span behind_last(struct span s)
{
	struct span last = s;

	while (s.length) {
		struct span line = span_line(&s);
		struct tag tag;

		if (begins_with_tag(line, &tag) && tag.closing)
			last = (struct span){ tag.end,
					      (size_t)(s.at - tag.end) + s.length };
	}
	return last;
}

static void add_thought(struct scan *s, const char *from, const char *to)
{
	while (from < to && (*from == '\r' || *from == '\n'))
		from++;
	text_add(s->thoughts, from, (size_t)(to - from));
	if (to > from && to[-1] != '\n')
		text_puts(s->thoughts, "\n");
}

/* all so far was thinking, and what comes up to @to */
static void disown(struct scan *s, const char *from, const char *to)
{
	text_add(s->thoughts, s->kept.bytes, s->kept.length);
	text_clear(&s->kept);
	add_thought(s, from, to);
}

static void take_block(struct scan *s, struct span opening, struct block *b)
{
	bool code = b->kind == BLOCK_PYTHON || b->kind == BLOCK_PLAIN;
	const char *end = s->rest.at + s->rest.length;
	struct span body;

	(void)fence_body(&s->rest, opening, b, &body);
	if (body.at < opening.at + opening.length)
		(void)span_line(&body); /* what is behind a tag begins no line */
	if (code && is_draft(body)) {
		s->found = true;
		s->rest = behind_last((struct span){ body.at, (size_t)(end - body.at) });
		disown(s, opening.at, s->rest.at);
		return;
	}
	text_add(&s->kept, opening.at, (size_t)(s->rest.at - opening.at));
}

/* the next line, or what is left of the one that a tag stood in: looking for its end
 * once more for each tag would take time as the square of its length */
static struct span next_line(struct scan *s)
{
	struct span line = s->rest;

	if (s->rest.at >= s->line_end) {
		line = span_line(&s->rest);
		s->line_end = s->rest.at;
		return line;
	}
	line.length = (size_t)(s->line_end - line.at);
	s->rest = span_skip(s->rest, line.length);
	while (line.length && strchr("\r\n", line.at[line.length - 1]))
		line.length--;
	return line;
}

/* a line of no block: up to its first tag, and that one's thinking */
static void take_line(struct scan *s, struct span line)
{
	const char *end = s->rest.at + s->rest.length;
	struct tag tag;
	const char *at = find_tag(line, NULL, &tag);

	if (!at) {
		text_add(&s->kept, line.at, (size_t)(s->rest.at - line.at));
		return;
	}
	s->found = true;

	const char *behind = tag.end;

	if (tag.closing) {
		disown(s, line.at, at);
	} else {
		struct span inner = { behind, (size_t)(end - behind) };

		text_add(&s->kept, line.at, (size_t)(at - line.at));
		at = find_tag(inner, tag.name, &tag);
		add_thought(s, behind, at ? at : end);
		behind = at ? tag.end : end;
		if (s->kept.length && s->kept.bytes[s->kept.length - 1] != '\n')
			text_puts(&s->kept, "\n");
	}
	s->rest = (struct span){ behind, (size_t)(end - behind) };
}

/* the reply without blank lines at its beginning */
static void keep(struct scan *s, struct text *text)
{
	struct span left = { text_string(&s->kept), s->kept.length };
	struct span from = left;

	while (left.length && fence_blank(span_line(&left)))
		from = left;
	text_clear(text);
	text_add(text, from.at, from.length);
	text_free(&s->kept);
}

int think_split(struct reply *r, struct err *e)
{
	struct scan s = { .rest = { text_string(&r->text), r->text.length },
			  .line_end = text_string(&r->text),
			  .kept.max = REPLY_TEXT_MAX + 1,
			  .thoughts = &r->reasoning };

	while (s.rest.length) {
		struct span line = next_line(&s);
		struct block b;

		if (fence_opens(line, &b))
			take_block(&s, line, &b);
		else
			take_line(&s, line);
	}

	int bad = text_check(&s.kept, "the model's reply", e);

	if (bad == 0)
		bad = text_check(&r->reasoning, "the model's reasoning", e);
	if (bad == 0 && s.found)
		keep(&s, &r->text);
	text_free(&s.kept);
	return bad;
}
