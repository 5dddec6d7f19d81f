/* SPDX-License-Identifier: MIT */
/*
 * clip.c - the head and the tail of a stream: see clip.h
 */

#include "agent/base/clip.h"
#include "agent/base/escape.h"
#include "agent/base/utf8.h"

void clip_clear(struct clip *c)
{
	c->total = 0;
	sha256_init(&c->sum);
	c->head_length = 0;
	c->tail_length = 0;
}

/* what does not fit pushes the oldest bytes out */
static void add_to_tail(struct clip *c, const char *at, size_t length)
{
	size_t fits = length < CLIP_TAIL_BYTES ? length : CLIP_TAIL_BYTES;
	size_t room = CLIP_TAIL_BYTES - fits;
	size_t stays = c->tail_length < room ? c->tail_length : room;

	memmove(c->tail, c->tail + c->tail_length - stays, stays);
	memcpy(c->tail + stays, at + length - fits, fits);
	c->tail_length = stays + fits;
}

void clip_add(struct clip *c, const void *bytes, size_t length)
{
	if (length)
		clip_resume(c, 0, bytes, length);
}

void clip_resume(struct clip *c, uint64_t missing, const void *bytes, size_t length)
{
	size_t room = missing ? 0 : CLIP_HEAD_BYTES - c->head_length;
	size_t first = length < room ? length : room;

	/* what was the tail stands before the gap now, where only the head is kept */
	if (missing)
		c->tail_length = 0;
	c->total += missing + length;
	sha256_update(&c->sum, length, bytes);
	memcpy(c->head + c->head_length, bytes, first);
	c->head_length += first;
	add_to_tail(c, (const char *)bytes + first, length - first);
}

uint64_t clip_take(const struct clip *c, struct text *head, struct text *tail)
{
	if (c->head_length + c->tail_length == c->total) {
		text_add(head, c->head, c->head_length);
		text_add(head, c->tail, c->tail_length);
		return 0;
	}

	size_t whole = c->head_length - utf8_unfinished(c->head, c->head_length);
	size_t skip = 0;

	while (skip < 3 && skip < c->tail_length &&
	       ((unsigned char)c->tail[skip] & 0xc0) == 0x80)
		skip++;
	text_add(head, c->head, whole);
	text_add(tail, c->tail + skip, c->tail_length - skip);
	return c->total - whole - (c->tail_length - skip);
}

void clip_last_line(const struct clip *c, struct text *line)
{
	cleanup_text struct text head = { 0 }, tail = { 0 };

	(void)clip_take(c, &head, &tail);

	const struct text *all = tail.length ? &tail : &head;
	size_t end = all->length;

	while (end && all->bytes[end - 1] && strchr(" \r\n", all->bytes[end - 1]))
		end--;

	size_t start = end;

	while (start && all->bytes[start - 1] != '\n')
		start--;
	escape_line(line, text_string(all) + start, end - start);
}

void clip_digest(const struct clip *c, char hex[DIGEST_HEX])
{
	struct sha256_ctx sum = c->sum;

	digest_hex(&sum, hex);
}

/* Of the line in which faulthandler lists every module with machine code, 253 in the tree
 * data, keep the number alone. @goes_on: the stream does, behind this text; @went_on: it
 * did, before it */
static void shorten_modules(struct text *t, bool goes_on, bool went_on)
{
	static const char begin[] = "\nExtension modules: ";
	char *at = t->bytes ? strstr(t->bytes, begin) : NULL;
	char *list = at ? at + sizeof(begin) - 1 : went_on ? t->bytes : NULL;
	char *end = list ? strchrnul(list, '\n') : NULL;
	char *total = list ? strstr(list, " (total: ") : NULL;

	if (list && at && goes_on && !*end)
		total = end;
	if (!total || total > end || total < list + 3)
		return;
	memcpy(list, "...", 3);
	memmove(list + 3, total, t->length - (size_t)(total - t->bytes) + 1);
	t->length -= (size_t)(total - list - 3);
}

void clip_show(const struct clip *c, const char *prefix, struct text *out)
{
	cleanup_text struct text head = { 0 }, tail = { 0 };
	uint64_t cut = clip_take(c, &head, &tail);
	size_t kept = head.length + tail.length;

	shorten_modules(&head, cut, false);
	shorten_modules(&tail, false, true);
	escape_lines(out, prefix, text_string(&head), head.length);
	if (!cut)
		return;
	text_printf(out, "[%" PRIu64 " bytes are not shown here]\n",
		    cut + kept - head.length - tail.length);
	escape_lines(out, prefix, text_string(&tail), tail.length);
}

void clip_titled(const char *title, const struct clip *first, const struct clip *second,
		 struct text *out)
{
	cleanup_text struct text theirs = { 0 };

	if (!first->total && (!second || !second->total))
		return;
	text_printf(out, "%s:\n", title);
	clip_show(first, ESCAPE_MARK, &theirs);
	if (second)
		clip_show(second, ESCAPE_MARK, &theirs);
	escape_turns(out, &theirs);
}
