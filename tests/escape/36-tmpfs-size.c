/* fill memory through /tmp, /work and /dev/shm | size caps of the tmpfs | ENOSPC */
/* SPDX-License-Identifier: MIT */
#include "attack.h"

/* write until it is refused, or the bytes are all there; what stays fills the next */
static int fill(const char *folder, long bytes)
{
	static const char block[65536] = "x";
	char path[4096];

	(void)snprintf(path, sizeof(path), "%s/filled", folder);

	int fd = open(path, O_WRONLY | O_CREAT, 0600);

	if (fd < 0)
		return -1;
	for (long done = 0; done < bytes; done += (long)sizeof(block))
		if (write(fd, block, sizeof(block)) < 0)
			return -1;
	return 0;
}

/* argv: how many bytes, then folders */
int main(int argc, char **argv)
{
	long bytes = argc > 1 ? strtol(argv[1], NULL, 10) : 0;

	if (bytes <= 0)
		attack_lacks("a size");
	for (int i = 2; i < argc; i++)
		door(argv[i], fill(argv[i], bytes));
	return attack_end();
}
