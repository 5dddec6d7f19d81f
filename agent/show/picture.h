/* SPDX-License-Identifier: MIT */
/*
 * picture.h - a PNG of a jail's, read by nobody but libpng, and within limits
 *
 * A PNG is a program for its decoder, and this one is a stranger's. libpng gets the
 * chunks that make the picture and no other (no text, no profiles, nothing that unpacks
 * to more), its checksums are kept, sizes are checked before memory is asked for. What a
 * terminal is given is made anew from the pixels: its own decoder sees none of the
 * stranger's bytes.
 */
#ifndef STEPJAIL_AGENT_PICTURE_H
#define STEPJAIL_AGENT_PICTURE_H

#include <stdint.h>

#include "agent/base/text.h"

#define PICTURE_SIDE_MAX 16384u
#define PICTURE_PIXELS_MAX ((uint32_t)16 << 20)
#define PICTURE_SHOWN_SIDE                                                               \
	1600u /* of what is made for a terminal; larger ones are shrunk */

struct picture {
	uint32_t width, height;
	unsigned char *pixels; /* red, green, blue, opacity; rows without gaps */
};

#define cleanup_picture __attribute__((cleanup(picture_free)))

/**
 * picture_size() - What a PNG's first chunk says of its size
 *
 * Return: 0, or -EBADMSG: it is no PNG
 */
int picture_size(const void *png, size_t length, uint32_t *width, uint32_t *height,
		 struct err *e);

/**
 * picture_read() - Decode a PNG
 * @p:		Filled on success only; picture_free()
 *
 * Return: 0, -EBADMSG (it is broken), -E2BIG (more than the limits above), -ENOMEM
 */
int picture_read(const void *png, size_t length, struct picture *p, struct err *e);

/** picture_shrink() - By a whole number, until no side is longer than @side; 0 or
 * -ENOMEM */
int picture_shrink(struct picture *p, uint32_t side, struct err *e);

/** picture_png() - Add it as a PNG of our own; 0 or -errno */
int picture_png(const struct picture *p, struct text *out, struct err *e);

/** picture_free() - Free the pixels */
void picture_free(struct picture *p);

#endif
