/* SPDX-License-Identifier: MIT */
/*
 * media.h - what a step shows beside its output: tables, pictures, structured values
 *
 * A step shows objects: what it gives to display(), the value of its last expression,
 * each figure that is open at its end. An object has one form or more of enum media_kind,
 * for its reader to choose from, each at most once. Each form is a MEDIA and as many
 * PIECEs as hold its bytes, in order, before the step's DONE: all of MEDIA_PIECE_MAX
 * bytes but the last, none of them empty. A form begins when the one before it is whole,
 * and forms of one object follow each other. A form of more bytes than are left of what
 * the step may show (--media-limit) is a MEDIA alone, with MEDIA_LEFT_OUT.
 *
 * A step that ends within a form, by a signal or an interrupt, leaves the form
 * incomplete: no other form follows, and DONE comes before the missing pieces. Such a
 * form is of no use.
 *
 * Stepjail lets no frame through that breaks these rules. The content comes from the step
 * and is as hostile as its output: a PNG may be no PNG, a name that of another file.
 */
#pragma once

#include <stdint.h>

#define MEDIA_PIECE_MAX (32u << 10)
#define MEDIA_NAME_MAX 255u   /* bytes of a name */
#define MEDIA_OBJECTS_MAX 64u /* objects of one step */

enum media_kind {
	MEDIA_TEXT = 1, /* text/plain, UTF-8: the repr() of what display() was given */
	MEDIA_HTML,     /* text/html, UTF-8 */
	MEDIA_JSON,     /* application/json */
	MEDIA_PNG,      /* image/png */
	MEDIA_SVG,      /* image/svg+xml */
	MEDIA_KINDS,
};

enum media_from {
	MEDIA_FROM_DISPLAY = 1, /* display() */
	MEDIA_FROM_RESULT,      /* the last expression; its text comes by RESULT */
	MEDIA_FROM_FIGURE,      /* a figure that was open at the step's end */
};

#define MEDIA_LEFT_OUT 1u /* flag: no PIECE follows, it is too large */

/* WIRE_MEDIA; to a client behind struct serve_at. The name follows, without a NUL: that
 * of the file which the step itself saved the object to, without its folders, or nothing.
 * All forms of the object have this name, so its ending may not be the form's. UTF-8, at
 * most MEDIA_NAME_MAX bytes, no control characters, no '/', and no '.' at the
 * beginning */
struct media {
	uint32_t object; /* from 0 on, in the order of showing, within the step */
	uint16_t kind;   /* enum media_kind */
	uint16_t from;   /* enum media_from */
	uint32_t flags;
	uint32_t reserved; /* zero */
	uint64_t bytes;    /* in all, 1 at least; of one left out, at the least */
};

_Static_assert(sizeof(struct media) == 24, "no padding on the wire");
