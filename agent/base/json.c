/* SPDX-License-Identifier: MIT */
/*
 * json.c - JSON, read and made: see json.h
 */

#include "agent/base/json.h"
#include "agent/base/memory.h"
#include "agent/base/utf8.h"

#define ESCAPE 6         /* bytes of \uXXXX */
#define HIGH (0xd8 >> 2) /* the upper six bits of the halves of a surrogate pair */
#define LOW (0xdc >> 2)

static const char replacement[ESCAPE] = { '\\', 'u', 'f', 'f', 'f', 'd' };

static void *take(size_t bytes)
{
	return memory_grow(NULL, bytes);
}

void json_memory(void)
{
	cJSON_InitHooks(&(struct cJSON_Hooks){ .malloc_fn = take, .free_fn = free });
}

/* the unit of an escape of four digits; -1 where there is none */
static long unit_at(const char *at, const char *end)
{
	char digits[5] = "";

	if (end - at < ESCAPE || at[0] != '\\' || at[1] != 'u')
		return -1;
	memcpy(digits, at + 2, 4);
	return strspn(digits, "0123456789abcdefABCDEF") == 4 ? strtol(digits, NULL, 16)
							     : -1;
}

bool json_mend(char *bytes, size_t length)
{
	char *end = bytes + length;
	bool nul = false;

	for (char *at = bytes; (at = memchr(at, '\\', (size_t)(end - at)));) {
		long unit = unit_at(at, end);

		if (unit >> 10 == HIGH && unit_at(at + ESCAPE, end) >> 10 == LOW) {
			at += 2 * ESCAPE;
			continue;
		}
		if (unit == 0 || unit >> 10 == HIGH || unit >> 10 == LOW) {
			nul = nul || unit == 0;
			memcpy(at, replacement, ESCAPE);
		}
		at += end - at >= 2 ? 2 : 1; /* over the escaped character too */
	}
	return nul;
}

void json_plain(const char *bytes, size_t length, struct text *out)
{
	const char *end = bytes + length;

	for (const char *at = bytes; at < end;) {
		long unit = unit_at(at, end);
		char c = unit < 0x80 ? (char)unit : '?';

		if (unit < 0) {
			at += *at == '\\' && at + 1 < end;
			c = *at;
		}
		text_add(out, &c, 1);
		at += unit < 0 ? 1 : ESCAPE;
	}
}

bool json_crowded(const char *bytes, size_t length)
{
	bool text = false;
	size_t values = 0;

	for (size_t i = 0; i < length && values <= JSON_VALUES_MAX; i++) {
		if (text && bytes[i] == '\\')
			i++;
		else if (bytes[i] == '"')
			text = !text;
		else if (!text)
			values += bytes[i] == ',' || bytes[i] == '[' || bytes[i] == '{';
	}
	return values > JSON_VALUES_MAX;
}

cJSON *json_parse(const char *bytes, size_t length)
{
	const char *end = NULL;
	cleanup_json cJSON *root = NULL;

	if (memchr(bytes, '\0', length) || json_crowded(bytes, length))
		return NULL;
	root = cJSON_ParseWithLengthOpts(bytes, length, &end, false);
	while (root && end < bytes + length)
		if (!strchr(" \t\r\n", *end++))
			return NULL;

	cJSON *whole = root;

	root = NULL;
	return whole;
}

void json_free(cJSON **value)
{
	cJSON_Delete(*value);
}

void json_print(const cJSON *value, struct text *out)
{
	char *printed = cJSON_PrintUnformatted(value);

	if (printed)
		text_puts(out, printed);
	else
		out->failed = E2BIG;
	cJSON_free(printed);
}

cJSON *json_mended(const char *bytes, size_t length)
{
	cleanup_text struct text text = { 0 };

	utf8_mend(&text, bytes, length);
	return cJSON_CreateString(text_string(&text));
}

void json_add_item(cJSON *object, const char *name, cJSON *value)
{
	(void)cJSON_AddItemToObject(object, name, value);
}

void json_add_bool(cJSON *object, const char *name, bool value)
{
	json_add_item(object, name, cJSON_CreateBool(value));
}

void json_add_string(cJSON *object, const char *name, const char *value)
{
	json_add_item(object, name,
		      value ? json_mended(value, strlen(value)) : cJSON_CreateNull());
}

void json_add_text(cJSON *object, const char *name, const struct text *value)
{
	json_add_item(object, name,
		      value ? json_mended(text_string(value), value->length)
			    : cJSON_CreateNull());
}

void json_add_int(cJSON *object, const char *name, int value)
{
	json_add_item(object, name, cJSON_CreateNumber(value));
}

void json_add_count(cJSON *object, const char *name, uint64_t value)
{
	json_add_item(object, name, cJSON_CreateNumber((double)value));
}

cJSON *json_append(cJSON *list)
{
	cJSON *object = cJSON_CreateObject();

	(void)cJSON_AddItemToArray(list, object);
	return object;
}

const cJSON *json_get(const cJSON *object, const char *name)
{
	return cJSON_GetObjectItemCaseSensitive(object, name);
}

const char *json_string(const cJSON *object, const char *name)
{
	const cJSON *item = json_get(object, name);

	return cJSON_IsString(item) ? item->valuestring : NULL;
}

const char *json_text(const cJSON *object, const char *name)
{
	const char *text = json_string(object, name);

	return text ? text : "";
}

bool json_u32(const cJSON *object, const char *name, uint32_t *n)
{
	uint64_t count;

	if (!json_count(object, name, &count) || count > UINT32_MAX)
		return false;
	*n = (uint32_t)count;
	return true;
}

const cJSON *json_first(const cJSON *list)
{
	return cJSON_IsArray(list) ? list->child : NULL;
}

bool json_count(const cJSON *object, const char *name, uint64_t *count)
{
	const cJSON *n = json_get(object, name);

	if (!cJSON_IsNumber(n) ||
	    !(n->valuedouble >= 0 && n->valuedouble <= JSON_COUNT_MAX))
		return false;
	*count = (uint64_t)n->valuedouble;
	return true;
}
