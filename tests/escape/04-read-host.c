/* read the files of the host | mount namespace, pivot_root | ENOENT */
/* SPDX-License-Identifier: MIT */
#include "attack.h"

/* argv: host paths */
int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		door(argv[i], open(argv[i], O_RDONLY));
		door(argv[i], access(argv[i], F_OK));
	}
	return attack_end();
}
