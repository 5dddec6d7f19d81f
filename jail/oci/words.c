/* SPDX-License-Identifier: MIT */
/*
 * words.c - lists of strings: see words.h
 */
#include <cjson/cJSON.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jail/oci/words.h"

static void *or_end(void *memory)
{
	if (memory)
		return memory;
	(void)fputs("stepjail-oci: out of memory\n", stderr);
	_exit(STATUS_FAILED);
}

void *words_allocate(size_t size)
{
	return or_end(malloc(size));
}

void words_memory(void)
{
	cJSON_InitHooks(&(cJSON_Hooks){ words_allocate, free });
}

static char *print(const char *fmt, va_list args)
{
	char *text = NULL;

	return or_end(vasprintf(&text, fmt, args) < 0 ? NULL : text);
}

void words_add(struct words *w, const char *fmt, ...)
{
	va_list args;

	w->word = or_end(realloc(w->word, (w->count + 2) * sizeof(w->word[0])));
	va_start(args, fmt);
	w->word[w->count++] = print(fmt, args);
	va_end(args);
	w->word[w->count] = NULL;
}

void words_put(struct words *w, const char *name, const char *fmt, ...)
{
	size_t n = strlen(name), i = 0;
	char *value;
	va_list args;

	while (i < w->count &&
	       (strncmp(w->word[i] + 2, name, n) != 0 || w->word[i][2 + n] != '='))
		i++;
	if (i < w->count) {
		free(w->word[i]);
		w->count--;
		memmove(w->word + i, w->word + i + 1,
			(w->count + 1 - i) * sizeof(w->word[0]));
	}
	va_start(args, fmt);
	value = print(fmt, args);
	va_end(args);
	words_add(w, "--%s=%s", name, value);
	free(value);
}

void words_free(struct words *w)
{
	for (size_t i = 0; i < w->count; i++)
		free(w->word[i]);
	free(w->word);
	*w = (struct words){ 0 };
}
