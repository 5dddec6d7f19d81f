/* a symlink of the root tree bends the destination of a bind | RESOLVE_NO_SYMLINKS |
 * launcher passes through a symlink */
/* SPDX-License-Identifier: MIT */
#include "attack.h"

/* argv: where the symlink leads to, outside of the tree: did the bind come to lie there?
 */
int main(int argc, char **argv)
{
	if (argc < 2)
		attack_lacks("a path");
	door(argv[1], access(argv[1], F_OK));
	return attack_end();
}
