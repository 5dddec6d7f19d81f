/* SPDX-License-Identifier: MIT */
/*
 * picture.c - a PNG of a jail's, in and out: see picture.h
 *
 * Formats: Portable Network Graphics (PNG) Specification, third edition; libpng(3), its
 * simplified interface.
 */
#include <errno.h>
#include <png.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "agent/show/picture.h"

#define SIGNATURE_BYTES 8
#define CHUNK_BYTES 12 /* of one without data: length, name, checksum */
#define HEADER_END (SIGNATURE_BYTES + CHUNK_BYTES + 13)

/* what makes the pixels; libpng is shown no other chunk */
static const char *const needed[] = { "IHDR", "PLTE", "tRNS", "IDAT", "IEND" };

void picture_free(struct picture *p)
{
	free(p->pixels);
	p->pixels = NULL;
}

int picture_size(const void *png, size_t length, uint32_t *width, uint32_t *height,
		 struct err *e)
{
	const unsigned char *at = png;

	if (length < HEADER_END || png_sig_cmp(at, 0, SIGNATURE_BYTES) != 0 ||
	    png_get_uint_32(at + SIGNATURE_BYTES) != 13 ||
	    memcmp(at + SIGNATURE_BYTES + 4, "IHDR", 4) != 0)
		return err_say(e, EBADMSG, "it is no PNG");
	*width = png_get_uint_32(at + SIGNATURE_BYTES + 8);
	*height = png_get_uint_32(at + SIGNATURE_BYTES + 12);
	return *width && *height ? 0 : err_say(e, EBADMSG, "it is no PNG");
}

static bool is_needed(const unsigned char *name)
{
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (memcmp(name, needed[i], 4) == 0)
			return true;
	return false;
}

/* the needed chunks alone; a cut one ends it, and libpng then says that it is broken */
static void strip(const unsigned char *at, size_t left, struct text *out)
{
	text_add(out, at, SIGNATURE_BYTES);
	at += SIGNATURE_BYTES;
	left -= SIGNATURE_BYTES;
	while (left >= CHUNK_BYTES && png_get_uint_32(at) <= left - CHUNK_BYTES) {
		size_t chunk = CHUNK_BYTES + png_get_uint_32(at);

		if (is_needed(at + 4))
			text_add(out, at, chunk);
		at += chunk;
		left -= chunk;
	}
}

static int decode(const struct text *png, struct picture *p, struct err *e)
{
	png_image image = { .version = PNG_IMAGE_VERSION };
	int r = 0;

	if (!png_image_begin_read_from_memory(&image, png->bytes, png->length))
		return err_say(e, EBADMSG, "it is a broken PNG: %.64s", image.message);
	image.format = PNG_FORMAT_RGBA;
	/* without its own word on it, 16 bits are as those of all others */
	image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
	if (image.width != p->width || image.height != p->height) {
		r = err_say(e, EBADMSG, "it is a broken PNG: it has two sizes");
	} else {
		p->pixels = malloc((size_t)p->width * p->height * 4 + 1);
		if (!p->pixels)
			r = err_set(e, ENOMEM, "a picture");
		else if (!png_image_finish_read(&image, NULL, p->pixels, 0, NULL))
			r = err_say(e, EBADMSG, "it is a broken PNG: %.64s",
				    image.message);
	}
	png_image_free(&image);
	if (r < 0)
		picture_free(p);
	return r;
}

int picture_read(const void *png, size_t length, struct picture *p, struct err *e)
{
	struct picture got = { .pixels = NULL };
	cleanup_text struct text plain = { .max = length };
	int r = picture_size(png, length, &got.width, &got.height, e);

	if (r < 0)
		return r;
	if (got.width > PICTURE_SIDE_MAX || got.height > PICTURE_SIDE_MAX ||
	    (uint64_t)got.width * got.height > PICTURE_PIXELS_MAX)
		return err_say(
			e, E2BIG,
			"%u by %u pixels are more than the %u million that are looked at, or than %u in a row",
			got.width, got.height, PICTURE_PIXELS_MAX >> 20,
			PICTURE_SIDE_MAX);
	strip(png, length, &plain);
	r = text_check(&plain, "a picture", e);
	if (r == 0)
		r = decode(&plain, &got, e);
	if (r == 0)
		*p = got;
	return r;
}

/* the mean of a square, colours by how opaque they are */
static void mean(const struct picture *p, uint32_t x, uint32_t y, uint32_t by,
		 unsigned char *to)
{
	uint64_t sum[3] = { 0 }, opaque = 0, count = 0;

	for (uint32_t row = y; row < y + by && row < p->height; row++)
		for (uint32_t column = x; column < x + by && column < p->width;
		     column++) {
			const unsigned char *at =
				p->pixels + ((size_t)row * p->width + column) * 4;

			for (int i = 0; i < 3; i++)
				sum[i] += (uint64_t)at[i] * at[3];
			opaque += at[3];
			count++;
		}
	for (int i = 0; i < 3; i++)
		to[i] = (unsigned char)(opaque ? (sum[i] + opaque / 2) / opaque : 0);
	to[3] = (unsigned char)(count ? (opaque + count / 2) / count : 0);
}

int picture_shrink(struct picture *p, uint32_t side, struct err *e)
{
	uint32_t longest = p->width > p->height ? p->width : p->height;
	uint32_t by = (longest + side - 1) / side;
	struct picture small = { (p->width + by - 1) / by, (p->height + by - 1) / by,
				 NULL };

	if (by <= 1)
		return 0;
	small.pixels = malloc((size_t)small.width * small.height * 4);
	if (!small.pixels)
		return err_set(e, ENOMEM, "a picture");
	for (uint32_t y = 0; y < small.height; y++)
		for (uint32_t x = 0; x < small.width; x++)
			mean(p, x * by, y * by, by,
			     small.pixels + ((size_t)y * small.width + x) * 4);
	picture_free(p);
	*p = small;
	return 0;
}

int picture_png(const struct picture *p, struct text *out, struct err *e)
{
	png_image image = { .version = PNG_IMAGE_VERSION,
			    .width = p->width,
			    .height = p->height,
			    .format = PNG_FORMAT_RGBA };
	png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
	unsigned char *bytes = malloc(size);
	int r = 0;

	if (!bytes)
		return err_set(e, ENOMEM, "a picture");
	if (png_image_write_to_memory(&image, bytes, &size, 0, p->pixels, 0, NULL))
		text_add(out, bytes, size);
	else
		r = err_say(e, EIO, "libpng: %.64s", image.message);
	png_image_free(&image);
	free(bytes);
	return r < 0 ? r : text_check(out, "a picture", e);
}
