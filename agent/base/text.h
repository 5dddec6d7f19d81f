/* SPDX-License-Identifier: MIT */
/*
 * text.h - a growing, bounded string
 *
 * What a model or a jail sends is put together piece by piece. A piece that does not fit
 * leaves the text as it was and is remembered in @failed, so that a caller checks once,
 * at the end, and never after each piece. Memory that runs out ends the process
 * (memory.h).
 */
#pragma once

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "init/err.h"

/* what names are made of */
#define TEXT_WORD "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
#define TEXT_MAX_BYTES ((size_t)64 << 20) /* the bound where a text names none */

struct text {
	char *bytes; /* ends in a NUL that is not counted; NULL while empty */
	size_t length;
	size_t room;
	size_t max; /* largest length, 0 for TEXT_MAX_BYTES */
	int failed; /* 0, or E2BIG: a piece was not added, for there is no room for it */
};

/* bytes of somebody else's */
struct span {
	const char *at;
	size_t length;
};

/** span_line() - Take the first line off @rest; its LF is left out, and a CR before
 * that */
struct span span_line(struct span *rest);

/** span_skip() - All but the first @n bytes */
struct span span_skip(struct span s, size_t n);

#define cleanup_text __attribute__((cleanup(text_free)))

/** text_free() - Free and empty a text; its bound stays */
void text_free(struct text *t);

/** text_clear() - Empty a text and keep its memory */
void text_clear(struct text *t);

/** text_add() - Add @length bytes, which may hold NULs */
void text_add(struct text *t, const void *bytes, size_t length);

/** text_puts() - Add a C string */
void text_puts(struct text *t, const char *string);

/** text_printf() - Add formatted text */
void text_printf(struct text *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/** text_base64() - Add bytes as base64 (RFC 4648), without line breaks */
void text_base64(struct text *t, const void *bytes, size_t length);

/** text_string() - The text as a C string, "" while empty; valid until the next change */
const char *text_string(const struct text *t);

/**
 * text_check() - Say whether every piece was added
 * @what:	Names the text for the error line
 *
 * Return: 0 or -E2BIG
 */
int text_check(const struct text *t, const char *what, struct err *e);
