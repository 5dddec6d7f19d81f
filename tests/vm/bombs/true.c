/* SPDX-License-Identifier: MIT */
/* true.c - succeed, or wait first: true [MS] */
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv)
{
	long ms = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	return ms > 0 ? nanosleep(&t, NULL) : 0;
}
