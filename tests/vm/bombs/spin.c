/* SPDX-License-Identifier: MIT */
/*
 * spin.c - keep a processor busy: spin MS
 *
 * Spins for MS milliseconds of wall time and prints "wall_ms N cpu_ms N": how much of a
 * processor it was given.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long long now_ms(clockid_t clock)
{
	struct timespec t;

	(void)clock_gettime(clock, &t);
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

int main(int argc, char **argv)
{
	long ms = argc > 1 ? strtol(argv[1], NULL, 10) : 1000;
	long long start = now_ms(CLOCK_MONOTONIC), wall;

	do
		wall = now_ms(CLOCK_MONOTONIC) - start;
	while (wall < ms);
	printf("wall_ms %lld cpu_ms %lld\n", wall, now_ms(CLOCK_PROCESS_CPUTIME_ID));
	return 0;
}
