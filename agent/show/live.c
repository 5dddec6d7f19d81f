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

static void lay_out(struct live *l, const struct text *plain, const char *mark,
		    size_t columns, struct text *out)
{
	const char *at = text_string(plain);
	size_t least = strlen(mark) + LEAST_COLUMNS;

	columns = columns > least ? columns : least;
	for (size_t left = plain->length, n; left; at += n, left -= n) {
		uint32_t point = 0;

		n = utf8_decode((const unsigned char *)at, left, &point);
		n = n ? n : 1;
		l->full = l->full || l->bytes + n > LIVE_BYTES_MAX ||
			  l->rows >= LIVE_ROWS_MAX;
		if (l->full)
			return;
		l->bytes += n;
		if (l->column && point != '\n' &&
		    l->column + escape_cells(point, l->column) >= columns)
			live_row_end(l, out);
		if (!l->column)
			text_puts(out, mark);
		l->column = l->column ? l->column : strlen(mark);
		if (point == '\n') {
			live_row_end(l, out);
		} else {
			text_add(out, at, n);
			l->column += escape_cells(point, l->column);
		}
	}
}

void live_add(struct live *l, const char *words, size_t length, const char *mark,
	      size_t columns, struct text *out)
{
	cleanup_text struct text plain = { 0 };

	stream_add(&l->stream, words, length, &plain);
	lay_out(l, &plain, mark, columns, out);
}

bool live_end(struct live *l, const char *mark, size_t columns, struct text *out)
{
	cleanup_text struct text plain = { 0 };
	bool whole;

	stream_end(&l->stream, &plain);
	lay_out(l, &plain, mark, columns, out);
	live_row_end(l, out);
	whole = !l->full;
	*l = (struct live){ 0 };
	return whole;
}
