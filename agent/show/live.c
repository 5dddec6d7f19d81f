/* SPDX-License-Identifier: MIT */
/*
 * live.c - words of a model or a jail in rows, while they still come: see live.h
 */

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

/* does the next word end in this row? One that is still to come is given a quarter */
static bool has_room(const struct live *l, const char *next, size_t left, size_t columns)
{
	size_t column = l->column;
	uint32_t point = 0;

	if (!l->whole)
		return column <= columns - columns / 4;
	if (column <= strlen(l->mark) + 1)
		return true; /* it is the row's first */
	for (size_t n; left && column < columns; next += n, left -= n) {
		n = utf8_decode((const unsigned char *)next, left, &point);
		n = n ? n : 1;
		if (point == ' ' || point == '\n')
			return true;
		column += escape_cells(point, column);
	}
	return column < columns;
}

/* @left: bytes that are known behind it */
static void put_char(struct live *l, uint32_t point, const char *at, size_t length,
		     size_t left, size_t columns, struct text *out)
{
	size_t cells = escape_cells(point, l->column);
	/* it belongs to what stands before it */
	bool selector = point == 0xfe0e || point == 0xfe0f;

	if (columns && l->column && !selector && point != '\n' &&
	    l->column + cells >= columns)
		live_row_end(l, out);
	if (!l->column)
		text_puts(out, l->mark);
	l->column = l->column ? l->column : strlen(l->mark);
	if (point == '\n') {
		live_row_end(l, out);
		return;
	}
	text_add(out, at, length);
	l->column += escape_cells(point, l->column);
	if (l->prose && columns && point == ' ' &&
	    !has_room(l, at + length, left, columns))
		live_row_end(l, out);
}

static void lay_out(struct live *l, const struct text *plain, size_t columns,
		    struct text *out)
{
	const char *at = text_string(plain);
	size_t least = strlen(l->mark) + LEAST_COLUMNS;

	columns = columns && columns < least ? least : columns;
	for (size_t left = plain->length, n; left; at += n, left -= n) {
		uint32_t point = 0;

		n = utf8_decode((const unsigned char *)at, left, &point);
		n = n ? n : 1;
		l->full = l->full || (l->bounded && (l->bytes + n > LIVE_BYTES_MAX ||
						     l->rows >= LIVE_ROWS_MAX));
		if (l->full)
			return;
		l->bytes += n;
		put_char(l, point, at, n, left - n, columns, out);
	}
}

void live_add(struct live *l, const char *words, size_t length, size_t columns,
	      struct text *out)
{
	cleanup_text struct text plain = { 0 };

	stream_add(&l->stream, words, length, &plain);
	lay_out(l, &plain, columns, out);
}

bool live_end(struct live *l, size_t columns, struct text *out)
{
	cleanup_text struct text plain = { 0 };

	stream_end(&l->stream, &plain);
	lay_out(l, &plain, columns, out);
	live_row_end(l, out);

	bool whole = !l->full;

	*l = (struct live){ .mark = l->mark, .prose = l->prose, .bounded = l->bounded };
	return whole;
}

void live_fold(const char *mark, const char *lines, size_t length, size_t columns,
	       struct text *out)
{
	for (const char *end = lines + length, *at = lines; at < end;) {
		/* what tests or a check printed */
		bool marked = strncmp(at, ESCAPE_MARK, strlen(ESCAPE_MARK)) == 0;
		/* a row is begun: its mark stands in the line */
		struct live l = { .mark = marked ? ESCAPE_MARK : mark,
				  .prose = true,
				  .whole = true,
				  .column = 1 };
		const char *line = at;

		at = memchr(line, '\n', (size_t)(end - line));
		at = at ? at + 1 : end;
		live_add(&l, line, (size_t)(at - line), columns, out);
	}
}
