/* leave the tree through a folder given as stdin | the launcher takes no folder as stdin
 * | launcher fd 0 is a folder */
/* SPDX-License-Identifier: MIT */
#include "attack.h"

/* argv: a secret's path, relative to the folder that is stdin */
int main(int argc, char **argv)
{
	if (argc < 2)
		attack_lacks("the secret's path");
	door("openat(0)", openat(0, argv[1], O_RDONLY));
	door("fchdir(0), open", fchdir(0) < 0 ? -1 : open(argv[1], O_RDONLY));
	return attack_end();
}
