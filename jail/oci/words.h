/* SPDX-License-Identifier: MIT */
/*
 * words.h - lists of strings, and memory that never runs out, or the process ends
 */
#pragma once

#include <stddef.h>

#define STATUS_FAILED 125

/* strings, with a NULL behind them */
struct words {
	char **word;
	size_t count;
};

/** words_memory() - Let cJSON's memory be such; to be called before anything else */
void words_memory(void);

/** words_allocate() - As malloc(3) */
void *words_allocate(size_t size);

/** words_add() - Add a string */
void words_add(struct words *w, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/** words_put() - Add an option, in place of an earlier one of that name */
void words_put(struct words *w, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/** words_free() - Free them all */
void words_free(struct words *w);
