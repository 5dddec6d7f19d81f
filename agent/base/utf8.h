/* SPDX-License-Identifier: MIT */
/*
 * utf8.h - UTF-8, checked
 */
#pragma once

#include <stdbool.h>

#include "agent/base/text.h"

/**
 * utf8_decode() - Take one character, as RFC 3629 has it
 * @bytes:	At least one byte
 * @left:	Bytes there are
 * @point:	Gets the code point
 *
 * Overlong forms, surrogates and points above U+10FFFF are no characters.
 *
 * Return: bytes taken, 0 where @bytes does not begin with a whole character
 */
size_t utf8_decode(const unsigned char *bytes, size_t left, uint32_t *point);

/** utf8_valid() - True where all of it is characters (NUL is one) */
bool utf8_valid(const void *bytes, size_t length);

/** utf8_mend() - Add the bytes to a text, U+FFFD for NUL and for every byte that is none
 */
void utf8_mend(struct text *out, const void *bytes, size_t length);

/** utf8_unfinished() - Bytes at the end that more bytes may make a character: 0 to 3 */
size_t utf8_unfinished(const void *bytes, size_t length);

/**
 * utf8_floor() - The longest beginning that does not cut a character in two
 * @length:	Bytes there are
 * @limit:	Bytes there is room for
 *
 * Return: a length of at most @limit
 */
size_t utf8_floor(const char *bytes, size_t length, size_t limit);
