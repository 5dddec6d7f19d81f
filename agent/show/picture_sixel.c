/* SPDX-License-Identifier: MIT */
/*
 * picture_sixel.c - a picture as sixels: see picture.h
 *
 * Six rows at a time; in such a band, for each colour that is there, one character for a
 * column of six pixels, equal ones counted. Colours are counted in 32 steps of red, green
 * and blue each; 256 can be named, and the rest becomes the nearest of these. Figures
 * have few. A library would bring decoders for ten other formats into a process that
 * reads hostile bytes, for 150 lines.
 *
 * Format: DEC, VT330/VT340 Programmer Reference Manual, volume 2, chapter 14
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/show/picture.h"

#define COLORS 256u
#define SHADES 32u /* of red, green and blue each */
#define CELLS (SHADES * SHADES * SHADES)
#define BAND 6u

struct palette {
	uint32_t count[CELLS];  /* pixels of a cell */
	uint64_t sum[CELLS][3]; /* and of their colours */
	uint16_t color[CELLS];  /* its place in the list */
	uint32_t list[COLORS];  /* cells */
	uint32_t used;
};

/* on white */
static void pixel(const struct picture *p, size_t i, unsigned char rgb[3])
{
	const unsigned char *at = p->pixels + i * 4;

	for (int k = 0; k < 3; k++)
		rgb[k] = (unsigned char)((at[k] * at[3] + 255 * (255 - at[3]) + 127) /
					 255);
}

static uint32_t cell_of(const unsigned char rgb[3])
{
	return (uint32_t)(rgb[0] >> 3) * SHADES * SHADES +
	       (uint32_t)(rgb[1] >> 3) * SHADES + (rgb[2] >> 3);
}

/* the most frequent first; where equal, in the order of colours */
static int by_count(const void *a, const void *b, void *arg)
{
	const struct palette *l = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (l->count[x] != l->count[y])
		return l->count[x] < l->count[y] ? 1 : -1;
	return x < y ? -1 : 1;
}

static uint32_t far(uint32_t a, uint32_t b)
{
	uint32_t sum = 0;

	for (int k = 0; k < 3; k++, a /= SHADES, b /= SHADES) {
		uint32_t x = a % SHADES, y = b % SHADES;
		uint32_t d = x > y ? x - y : y - x;

		sum += d * d;
	}
	return sum;
}

static uint16_t nearest(const struct palette *l, uint32_t cell)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < l->used; i++)
		if (far(l->list[i], cell) < far(l->list[best], cell))
			best = i;
	return (uint16_t)best;
}

static int choose(const struct picture *p, struct palette *l, struct err *e)
{
	uint32_t *cells = calloc(CELLS, sizeof(*cells));
	size_t pixels = (size_t)p->width * p->height;
	uint32_t found = 0;

	if (!cells)
		return err_set(e, ENOMEM, "a picture");
	for (size_t i = 0; i < pixels; i++) {
		unsigned char rgb[3];
		uint32_t cell;

		pixel(p, i, rgb);
		cell = cell_of(rgb);
		if (!l->count[cell]++)
			cells[found++] = cell;
		for (int k = 0; k < 3; k++)
			l->sum[cell][k] += rgb[k];
	}
	qsort_r(cells, found, sizeof(*cells), by_count, l);
	l->used = found < COLORS ? found : COLORS;
	memcpy(l->list, cells, l->used * sizeof(*cells));
	for (uint32_t i = 0; i < found; i++)
		l->color[cells[i]] = i < COLORS ? (uint16_t)i : nearest(l, cells[i]);
	free(cells);
	return 0;
}

/* "Pu;Px;Py;Pz": parts of a hundred of red, green and blue */
static void tell_colors(const struct palette *l, struct text *out)
{
	for (uint32_t i = 0; i < l->used; i++) {
		uint32_t cell = l->list[i];
		unsigned int of[3];

		for (int k = 0; k < 3; k++)
			of[k] = (unsigned int)((l->sum[cell][k] * 100 / l->count[cell] +
						127) /
					       255);
		text_printf(out, "#%u;2;%u;%u;%u", i, of[0], of[1], of[2]);
	}
}

static void add_run(unsigned char sixel, uint32_t count, struct text *out)
{
	char one = (char)('?' + sixel);

	if (count > 3)
		text_printf(out, "!%u", count);
	for (uint32_t i = 0; i < (count > 3 ? 1 : count); i++)
		text_add(out, &one, 1);
}

/* one colour of a band; columns behind its last pixel are left out */
static void add_row(const uint16_t *band, uint32_t width, uint32_t rows, uint16_t color,
		    struct text *out)
{
	unsigned char last = 0;
	uint32_t count = 0;

	text_printf(out, "#%u", color);
	for (uint32_t x = 0; x < width; x++) {
		unsigned char sixel = 0;

		for (uint32_t y = 0; y < rows; y++)
			if (band[y * width + x] == color)
				sixel |= (unsigned char)(1U << y);
		if (count && sixel != last) {
			add_run(last, count, out);
			count = 0;
		}
		last = sixel;
		count++;
	}
	if (last)
		add_run(last, count, out);
	text_puts(out, "$");
}

static void add_band(const struct picture *p, const struct palette *l, uint32_t top,
		     uint16_t *band, struct text *out)
{
	uint32_t rows = p->height - top < BAND ? p->height - top : BAND;
	unsigned char there[COLORS] = { 0 };

	for (size_t i = 0; i < (size_t)rows * p->width; i++) {
		unsigned char rgb[3];

		pixel(p, (size_t)top * p->width + i, rgb);
		band[i] = l->color[cell_of(rgb)];
		there[band[i]] = 1;
	}
	for (uint16_t color = 0; color < l->used; color++)
		if (there[color])
			add_row(band, p->width, rows, color, out);
	text_puts(out, "-");
}

static int draw(const struct picture *p, struct palette *l, uint16_t *band,
		struct text *out, struct err *e)
{
	int r = choose(p, l, e);

	if (r < 0)
		return r;
	/* pixels are square, and what is not painted stays as it is */
	text_printf(out, "\x1bP0;1;0q\"1;1;%u;%u", p->width, p->height);
	tell_colors(l, out);
	for (uint32_t top = 0; top < p->height; top += BAND)
		add_band(p, l, top, band, out);
	text_puts(out, "\x1b\\");
	return text_check(out, "a picture", e);
}

int picture_sixel(const struct picture *p, struct text *out, struct err *e)
{
	struct palette *l = calloc(1, sizeof(*l));
	uint16_t *band = calloc((size_t)p->width * BAND, sizeof(*band));
	int r = -ENOMEM;

	if (l && band)
		r = draw(p, l, band, out, e);
	else
		(void)err_set(e, ENOMEM, "a picture");
	free(l);
	free(band);
	return r;
}
