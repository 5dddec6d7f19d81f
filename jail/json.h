/* SPDX-License-Identifier: MIT */
/*
 * json.h - write JSON to a stream: strings escaped, numbers as they are
 *
 * Only what a report needs, because no JSON library of Debian's can be linked statically.
 * See RFC 8259.
 */
#ifndef STEPJAIL_JAIL_JSON_H
#define STEPJAIL_JAIL_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

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

#endif
