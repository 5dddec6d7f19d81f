/* SPDX-License-Identifier: MIT */
/*
 * fill.c - fill a file: fill PATH MIB
 *
 * Prints "written N MiB", and why it stopped if it could not write all.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STEP_BYTES (1UL << 20)

int main(int argc, char **argv)
{
	static char chunk[STEP_BYTES];
	long steps = argc > 2 ? strtol(argv[2], NULL, 10) : 64, i;
	int fd = open(argc > 1 ? argv[1] : "/tmp/fill", O_WRONLY | O_CREAT | O_CLOEXEC,
		      0600);

	if (fd < 0) {
		perror("open");
		return 3;
	}
	memset(chunk, 'x', sizeof(chunk));
	for (i = 0; i < steps; i++)
		if (write(fd, chunk, sizeof(chunk)) != (ssize_t)sizeof(chunk))
			break;
	printf("written %ld MiB%s%s\n", i, i < steps ? ": " : "",
	       i < steps ? strerror(errno) : "");
	return 0;
}
