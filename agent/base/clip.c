/* SPDX-License-Identifier: MIT */
/*
 * clip.c - the head and the tail of a stream: see clip.h
 */
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "agent/base/clip.h"
#include "agent/base/escape.h"
#include "agent/base/utf8.h"

void clip_clear(struct clip *c)
{
	c->total = 0;
	sha256_init(&c->sum);
	c->head_length = 0;
	c->tail_length = 0;
	c->tail_start = 0;
}

/* the ring: what does not fit pushes the oldest bytes out */
static void add_to_tail(struct clip *c, const char *at, size_t length)
{
	if (length > CLIP_TAIL_BYTES) {
		at += length - CLIP_TAIL_BYTES;
		length = CLIP_TAIL_BYTES;
	}
	while (length) {
		size_t end = (c->tail_start + c->tail_length) % CLIP_TAIL_BYTES;
		size_t piece = CLIP_TAIL_BYTES - end;

		if (piece > length)
			piece = length;
		memcpy(c->tail + end, at, piece);

		size_t room = CLIP_TAIL_BYTES - c->tail_length;
		size_t pushed = piece > room ? piece - room : 0;

		c->tail_start = (c->tail_start + pushed) % CLIP_TAIL_BYTES;
		c->tail_length += piece - pushed;
		at += piece;
		length -= piece;
	}
}

void clip_add(struct clip *c, const void *bytes, size_t length)
{
	size_t room = CLIP_HEAD_BYTES - c->head_length;
	size_t first = length < room ? length : room;

	c->total += length;
	sha256_update(&c->sum, length, bytes);
	if (first)
		memcpy(c->head + c->head_length, bytes, first);
	c->head_length += first;
	add_to_tail(c, (const char *)bytes + first, length - first);
}

void clip_resume(struct clip *c, uint64_t missing, const void *bytes, size_t length)
{
	if (!missing) {
		clip_add(c, bytes, length);
		return;
	}
	c->total += missing + length;
	sha256_update(&c->sum, length, (const uint8_t *)bytes);
	/* what was the tail stands before the gap now, where only the head is kept */
	c->tail_length = 0;
	c->tail_start = 0;
	add_to_tail(c, bytes, length);
}

uint64_t clip_take(const struct clip *c, struct text *head, struct text *tail)
{
	size_t before_wrap = CLIP_TAIL_BYTES - c->tail_start;

	if (before_wrap > c->tail_length)
		before_wrap = c->tail_length;

	uint64_t kept = c->head_length + c->tail_length;

	if (kept == c->total) {
		text_add(head, c->head, c->head_length);
		text_add(head, c->tail + c->tail_start, before_wrap);
		text_add(head, c->tail, c->tail_length - before_wrap);
		return 0;
	}

	size_t whole = utf8_floor(c->head, c->head_length, c->head_length - 1);
	uint32_t point;

	/* the head's last character may have been whole after all */
	if (utf8_decode((const unsigned char *)c->head + whole, c->head_length - whole,
			&point) == c->head_length - whole)
		whole = c->head_length;
	text_add(head, c->head, whole);

	size_t skip = 0;

	while (skip < 3 && skip < before_wrap &&
	       ((unsigned char)c->tail[c->tail_start + skip] & 0xc0) == 0x80)
		skip++;
	text_add(tail, c->tail + c->tail_start + skip, before_wrap - skip);
	text_add(tail, c->tail, c->tail_length - before_wrap);
	return c->total - whole - (c->tail_length - skip);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\r' || c == '\n';
}

void clip_last_line(const struct clip *c, struct text *line)
{
	cleanup_text struct text head = { 0 };
	cleanup_text struct text tail = { 0 };

	(void)clip_take(c, &head, &tail);

	const struct text *all = tail.length ? &tail : &head;
	size_t end = all->length;

	while (end && is_blank(all->bytes[end - 1]))
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

void clip_show(const struct clip *c, const char *prefix, struct text *out)
{
	cleanup_text struct text head = { 0 };
	cleanup_text struct text tail = { 0 };
	uint64_t cut = clip_take(c, &head, &tail);

	escape_lines(out, prefix, text_string(&head), head.length);
	if (!cut)
		return;
	text_printf(out, "[%" PRIu64 " bytes are not shown here]\n", cut);
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
	escape_turns(out, text_string(&theirs), theirs.length);
	if (theirs.failed && !out->failed)
		out->failed = theirs.failed;
}
