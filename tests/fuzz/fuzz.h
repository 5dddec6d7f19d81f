/* SPDX-License-Identifier: MIT */
/*
 * fuzz.h - what the fuzzers share
 *
 * A target is LLVMFuzzerTestOneInput() in a file of its own. It is linked with libFuzzer
 * (clang) to search, and with replay.c (gcc, the sanitizers too) to go through its corpus
 * in `make test`. It checks properties, by HOLDS(), and not only that nothing crashes.
 */
#pragma once

#include <ctype.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "init/err.h"

#define UNUSED __attribute__((unused))

#define HOLDS(condition)                                                                 \
	do {                                                                             \
		if (!(condition)) {                                                      \
			(void)fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, \
				      #condition);                                       \
			abort();                                                         \
		}                                                                        \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* what an error must be, whoever chose the words in it: one line, and an errno */
static UNUSED void fuzz_error(const struct err *e, int r)
{
	HOLDS(r < 0 && e->errnum == -r);
	HOLDS(memchr(e->text, '\0', sizeof(e->text)) && e->text[0]);
	for (const char *at = e->text; *at; at++)
		HOLDS(*at == '\t' || !iscntrl((unsigned char)*at));
}

/* a file of these bytes; close it */
static UNUSED int fuzz_file(const void *bytes, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	HOLDS(fd >= 0);
	HOLDS(size == 0 || write(fd, bytes, size) == (ssize_t)size);
	HOLDS(lseek(fd, 0, SEEK_SET) == 0);
	return fd;
}
