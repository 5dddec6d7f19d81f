/* SPDX-License-Identifier: MIT */
/*
 * memory.h - memory that is there, or the end of the process
 *
 * A record without one of its members, or an observation without a line, would be a lie
 * that nobody notices. So where memory runs out, the agent says so on stderr and ends
 * with status 125, in the middle of whatever it does: a step's code is on the disk
 * before the jail gets it, so the transcript reads up to there, and every jail ends
 * with the agent.
 *
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

/** memory_grow() - realloc(3), but never NULL; of NULL: malloc(3) */
void *memory_grow(void *old, size_t bytes);

/** memory_zeroed() - calloc(3), but never NULL */
void *memory_zeroed(size_t count, size_t bytes);

/** memory_string() - strdup(3), but never NULL */
char *memory_string(const char *string);

/** memory_vprintf() - vasprintf(3) into a new string, but never NULL */
char *memory_vprintf(const char *fmt, va_list ap) __attribute__((format(printf, 1, 0)));
