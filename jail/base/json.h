/* SPDX-License-Identifier: MIT */
/*
 * json.h - write JSON to a stream: strings escaped, numbers as they are
 *
 * By hand, since cJSON could not print what a report holds: it copies bytes that are no
 * UTF-8 into its output, ends a string at a NUL, and has numbers as doubles, which lose
 * bytes beyond 2^53. It would also be a parser, and a tree on the heap for each report,
 * in a process where only a writer is needed. See RFC 8259.
 */
#pragma once

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

/**
 * json_decode() - Decode one character of UTF-8
 * @left:	Number of bytes at @at, 1 at least
 * @point:	Gets its code point
 *
 * Return: its length in bytes, or 0 if the bytes are no character
 */
int json_decode(const unsigned char *at, size_t left, uint32_t *point);

/**
 * json_after() - Write @words of JSON, such as a key, and then a quoted string
 * @text:	Any bytes. The output is always valid JSON in ASCII: control bytes and
 *		characters beyond ASCII are escaped, and each byte that is no UTF-8
 *		becomes U+FFFD. NULL is written as null
 */
void json_after(const char *words, const char *text, FILE *out);

/**
 * json_number() - Write @words of JSON, and then a number, or null if it is not @known
 */
void json_number(const char *words, bool known, uint64_t n, FILE *out);

/**
 * json_bytes() - Write a quoted string that may hold NUL: at most 6 for each byte, and 2
 */
void json_bytes(FILE *out, const void *bytes, size_t length);

/**
 * json_open() - A stream into memory of a fixed size
 * @text:	Gets the memory, to be freed by the caller in any case
 *
 * For text without a NUL. open_memstream(3) would not do: without memory musl's version
 * drops text and reports no error.
 *
 * Return: the stream, NULL with errno set
 */
FILE *json_open(char **text, size_t size);

/**
 * json_close() - Close the stream
 *
 * Return: length of the text, which a NUL follows, or -ENOSPC: the text may lack its end
 */
ssize_t json_close(FILE *out, const char *text, size_t size);
