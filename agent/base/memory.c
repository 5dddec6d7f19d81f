/* SPDX-License-Identifier: MIT */
/*
 * memory.c - memory that is there, or the end of the process: see memory.h
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/memory.h"

#define STATUS_OWN_FAILURE 125

/* nothing here asks for memory, and nothing that is half made is written by exit(3) */
static void *there(void *memory)
{
	static const char line[] =
		"stepjail-agent: out of memory: the run ends here, and its transcript after its last whole line; give it less to do, or more memory\n";

	if (memory)
		return memory;
	(void)!write(STDERR_FILENO, line, sizeof(line) - 1);
	_exit(STATUS_OWN_FAILURE);
}

void *memory_grow(void *old, size_t bytes)
{
	return there(realloc(old, bytes ? bytes : 1));
}

void *memory_zeroed(size_t count, size_t bytes)
{
	return there(calloc(count ? count : 1, bytes));
}

char *memory_string(const char *string)
{
	size_t bytes = strlen(string) + 1;

	return memcpy(memory_grow(NULL, bytes), string, bytes);
}

char *memory_vprintf(const char *fmt, va_list ap)
{
	char *string = NULL;

	return there(vasprintf(&string, fmt, ap) < 0 ? NULL : string);
}
