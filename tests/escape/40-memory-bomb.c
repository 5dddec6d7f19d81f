/* use more memory than allowed, in several processes | memory.max, or the watch of the
 * launcher | verdict memory */
/* SPDX-License-Identifier: MIT */
#include "attack.h"

#include <sys/mman.h>

/* argv: processes, MiB for each, and for how many milliseconds it is held */
int main(int argc, char **argv)
{
	if (argc < 4)
		attack_lacks("numbers");

	long processes = strtol(argv[1], NULL, 10);
	size_t bytes = (size_t)strtol(argv[2], NULL, 10) << 20;
	useconds_t held_us = (useconds_t)strtol(argv[3], NULL, 10) * 1000;
	int status, ended = 0;

	for (long i = 0; i < processes; i++) {
		if (fork() != 0)
			continue;
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);

		char *block = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (block == MAP_FAILED)
			_exit(1);
		for (size_t at = 0; at < bytes; at += 4096)
			block[at] = 1;
		(void)usleep(held_us);
		_exit(0);
	}
	while (wait(&status) > 0)
		ended += WIFEXITED(status) && WEXITSTATUS(status) == 0;
	errno = ENOMEM;
	door("all of it", ended == processes ? 0 : -1);
	return attack_end();
}
