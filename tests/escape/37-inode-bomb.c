/* fill kernel memory with empty files | inode caps of the tmpfs | ENOSPC */
/* SPDX-License-Identifier: MIT */
#include "attack.h"

static int litter(const char *folder, long count)
{
	for (long i = 0; i < count; i++) {
		char path[4096];

		(void)snprintf(path, sizeof(path), "%s/f%ld", folder, i);
		if (mknod(path, S_IFREG | 0600, 0) < 0)
			return -1;
	}
	return 0;
}

/* argv: how many files, then folders */
int main(int argc, char **argv)
{
	long count = argc > 1 ? strtol(argv[1], NULL, 10) : 0;

	if (count <= 0)
		attack_lacks("a number");
	for (int i = 2; i < argc; i++)
		door(argv[i], litter(argv[i], count));
	return attack_end();
}
