/* SPDX-License-Identifier: MIT */
/*
 * json.h - write JSON to a stream: strings escaped, numbers as they are
 *
 * Only what a report needs, because no JSON library of Debian's can be linked statically.
 * See RFC 8259.
 */
#ifndef STEPJAIL_JAIL_BASE_JSON_H
#define STEPJAIL_JAIL_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/**
 * json_decode() - Take a character of UTF-8
 * @left:	Bytes that there are, 1 at least
 * @point:	Gets its code point
 *
 * Return: its length, or 0 if there is none
 */
int json_decode(const unsigned char *at, size_t left, uint32_t *point);

/**
 * json_string() - Write a quoted string, or null for NULL
 * @text:	Bytes; those that are not UTF-8, and control bytes, are escaped so that
 * the output is always valid JSON in ASCII
 */
void json_string(FILE *out, const char *text);

/** json_after() - The same behind @words of JSON, such as a key */
void json_after(const char *words, const char *text, FILE *out);

/** json_number() - Write a number behind @words of JSON, or null where it is not known */
void json_number(const char *words, bool known, uint64_t n, FILE *out);

/** json_bytes() - The same for any bytes, NUL among them: at most six for each, and two */
void json_bytes(FILE *out, const void *bytes, size_t length);

/**
 * json_open() - A stream into memory of a fixed size
 * @text:	Gets the memory, to be freed by the caller in any case
 *
 * For text without a NUL. Not open_memstream(3): musl's leaves out what it finds no memory
 * for, and says so to nobody.
 *
 * Return: the stream, NULL with errno set
 */
FILE *json_open(char **text, size_t size);

/**
 * json_close() - End it
 *
 * Return: length of the text, which a NUL follows, or -ENOSPC: it may lack its end
 */
ssize_t json_close(FILE *out, const char *text, size_t size);

#endif
