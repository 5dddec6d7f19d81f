/* SPDX-License-Identifier: MIT */
/*
 * live.c - a model's words on a terminal while they still come: see live.h
 */
#include <string.h>

#include "agent/base/escape.h"
#include "agent/base/utf8.h"
#include "agent/show/live.h"

#define LEAST_COLUMNS 8 /* behind the mark, however narrow a terminal says it is */

void live_row_end(struct live *l, struct text *out)
{
	if (l->column)
		text_puts(out, "\n");
	l->rows += l->column > 0;
	l->column = 0;
}

static void begin_row(struct live *l, const char *mark, struct text *out)
{
	text_puts(out, mark);
	l->column = strlen(mark);
}

/* a character, or a newline, that is harmless */
static void add_one(struct live *l, const char *at, size_t length, uint32_t point,
		    const char *mark, size_t columns, struct text *out)
{
	if (!l->column)
		begin_row(l, mark, out);
	if (point == '\n') {
		live_row_end(l, out);
		return;
	}
	if (l->column + escape_cells(point, l->column) >= columns) {
		live_row_end(l, out);
		begin_row(l, mark, out);
	}
	text_add(out, at, length);
	l->column += escape_cells(point, l->column);
}

static void lay_out(struct live *l, const struct text *plain, const char *mark,
		    size_t columns, struct text *out)
{
	const char *at = text_string(plain);
	size_t left = plain->length;

	if (columns < strlen(mark) + LEAST_COLUMNS)
		columns = strlen(mark) + LEAST_COLUMNS;
	while (left && !l->full) {
		uint32_t point = 0;
		size_t n = utf8_decode((const unsigned char *)at, left, &point);

		n = n ? n : 1;
		l->full = l->bytes + n > LIVE_BYTES_MAX || l->rows >= LIVE_ROWS_MAX;
		if (l->full)
			break;
		add_one(l, at, n, point, mark, columns, out);
		l->bytes += n;
		at += n;
		left -= n;
	}
}

void live_add(struct live *l, const char *words, size_t length, const char *mark,
	      size_t columns, struct text *out)
{
	cleanup_text struct text plain = { 0 };

	if (l->full)
		return;
	stream_add(&l->stream, words, length, &plain);
	lay_out(l, &plain, mark, columns, out);
}

bool live_end(struct live *l, const char *mark, size_t columns, struct text *out)
{
	cleanup_text struct text plain = { 0 };

	stream_end(&l->stream, &plain);
	if (!l->full)
		lay_out(l, &plain, mark, columns, out);
	live_row_end(l, out);

	bool whole = !l->full;

	*l = (struct live){ 0 };
	return whole;
}
