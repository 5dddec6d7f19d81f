/* SPDX-License-Identifier: MIT */
/*
 * json.h - JSON: what comes from outside is read with care, what is written has every
 * member
 *
 * cJSON answers NULL where memory ran out, and its next function takes that NULL and does
 * nothing: a record would lack a member, and nobody would notice. json_memory() gives it
 * memory that never runs out, or the process ends (memory.h). So cJSON_Create*() and
 * cJSON_Add*() cannot fail where their arguments are right.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "agent/base/text.h"

/** json_memory() - Let cJSON's memory be memory.h's; to be called before anything else */
void json_memory(void);

/**
 * json_mend() - Make escapes that no C string or no UTF-8 could hold U+FFFD, in place
 *
 * These are an escaped NUL, which would end a C string early and hide the rest, and half
 * of a surrogate pair, as servers send it that cut a stream between UTF-16 units.
 *
 * Return: true where there was a NUL
 */
bool json_mend(char *bytes, size_t length);

/** json_plain() - Add text of JSON, whole or not, with each escape of an ASCII character
 * read: to look for a word in */
void json_plain(const char *bytes, size_t length, struct text *out);

/* each takes ten times the memory of its bytes, and more */
#define JSON_VALUES_MAX 100000

/** json_crowded() - Whether there are more than JSON_VALUES_MAX values, as far as commas
 * tell */
bool json_crowded(const char *bytes, size_t length);

/**
 * json_parse() - The whole of it as one JSON value, and nothing but white space behind it
 *
 * Return: a value for the caller to free, or NULL; for what is crowded, too
 */
cJSON *json_parse(const char *bytes, size_t length);

/** json_free() - For cleanup_json */
void json_free(cJSON **value);

#define cleanup_json __attribute__((cleanup(json_free)))

/**
 * json_print() - Add a value as JSON on one line
 *
 * One that is longer than INT_MAX bytes fails as a piece does that is longer than @out
 * may be: @out->failed.
 */
void json_print(const cJSON *value, struct text *out);

/**
 * json_add() - Add a member
 * @value:	A string, mended to UTF-8, or NULL for null; a text, likewise; a whole
 *		number; a bool; or an item, which is taken over
 *
 * true and a comparison are no bool but an int: they need a variable, or a cast.
 */
#define json_add(object, name, value)                                                    \
	_Generic((value),                                                                \
		bool: json_add_bool,                                                     \
		char *: json_add_string,                                                 \
		const char *: json_add_string,                                           \
		struct text *: json_add_text,                                            \
		const struct text *: json_add_text,                                      \
		cJSON *: json_add_item,                                                  \
		int: json_add_int,                                                       \
		default: json_add_count)(object, name, value)

void json_add_bool(cJSON *object, const char *name, bool value);
void json_add_string(cJSON *object, const char *name, const char *value);
void json_add_text(cJSON *object, const char *name, const struct text *value);
void json_add_item(cJSON *object, const char *name, cJSON *value);
void json_add_int(cJSON *object, const char *name, int value);
void json_add_count(cJSON *object, const char *name, uint64_t value);

/** json_mended() - Bytes as a string, mended to UTF-8; the caller's */
cJSON *json_mended(const char *bytes, size_t length);

/** json_append() - Add a new object to a list; it is the list's */
cJSON *json_append(cJSON *list);

/** json_get() - A member of an object, NULL where there is none; as cJSON has it */
const cJSON *json_get(const cJSON *object, const char *name);

/** json_string() - A member that is a string, else NULL */
const char *json_string(const cJSON *object, const char *name);

/** json_text() - A member that is a string, else "" */
const char *json_text(const cJSON *object, const char *name);

/** json_u32() - A member that is a number from 0 to UINT32_MAX, cut to a whole one; true
 * where it is */
bool json_u32(const cJSON *object, const char *name, uint32_t *n);

/** json_first() - The first item of a list, NULL where it is empty or none; the others
 * follow by ->next */
const cJSON *json_first(const cJSON *list);

/**
 * json_count() - A member that is a number of something
 *
 * Return: true where it is a number from 0 to JSON_COUNT_MAX
 */
bool json_count(const cJSON *object, const char *name, uint64_t *count);

#define JSON_COUNT_MAX 1e12 /* more than that is not a count but a mistake */
