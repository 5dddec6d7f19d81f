/* SPDX-License-Identifier: MIT */
/*
 * memory.c - touch memory steadily: memory MIB [HOLD_MS]
 *
 * Bounded: stops at MIB and says "survived", which is what a test must not see. Keeps
 * what it has for HOLD_MS milliseconds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define STEP_BYTES (1UL << 20)

int main(int argc, char **argv)
{
	long steps = argc > 1 ? strtol(argv[1], NULL, 10) : 256;

	for (long i = 1; i <= steps; i++) {
		void *chunk = mmap(NULL, STEP_BYTES, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (chunk == MAP_FAILED) {
			perror("mmap");
			return 3;
		}
		/* not zero, and not the same twice: nothing may merge or drop these pages
		 */
		memset(chunk, (int)(i % 255) + 1, STEP_BYTES);
		if (i % 16 == 0) {
			printf("touched %ld MiB\n", i);
			(void)fflush(stdout);
		}
	}
	puts("survived");
	(void)fflush(stdout);

	long ms = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
	struct timespec hold = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	return ms > 0 ? nanosleep(&hold, NULL) : 0;
}
