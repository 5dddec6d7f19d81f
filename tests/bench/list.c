/* SPDX-License-Identifier: MIT */
/*
 * list.c - what the races have in common: see list.h
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/bench/list.h"

double list_now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

size_t list_read(struct contender list[LIST_MAX], size_t room, size_t rounds)
{
	char *line = NULL;
	size_t size = 0, n = 0;

	while (n < LIST_MAX - room && getline(&line, &size, stdin) > 0) {
		char *rest = strdup(line);
		size_t words = 0;

		if (!rest)
			abort();
		rest[strcspn(rest, "\n")] = '\0';
		list[n].name = strsep(&rest, "\t");
		while (rest && words < LIST_WORDS_MAX)
			list[n].argv[words++] = strsep(&rest, "\t");
		if (words == 0)
			abort();
		n++;
	}
	free(line);
	for (size_t i = 0; i < n + room; i++)
		if (!(list[i].ms = calloc(rounds, sizeof(double))))
			abort();
	return n;
}

void list_shuffle(size_t *order, size_t n)
{
	static uint32_t state = 2463534242U; /* xorshift */

	for (size_t i = n - 1; i > 0; i--) {
		state ^= state << 13;
		state ^= state >> 17;
		state ^= state << 5;

		size_t j = state % (i + 1), kept = order[i];

		order[i] = order[j];
		order[j] = kept;
	}
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void list_sort(double *ms, size_t n)
{
	qsort(ms, n, sizeof(double), compare);
}

double list_median(const double *sorted, size_t n)
{
	return (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
}

double list_p99(const double *sorted, size_t n)
{
	return sorted[(n * 99 + 99) / 100 - 1];
}
