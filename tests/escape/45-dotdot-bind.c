/* a .. in the destination of a bind leads out of the tree | the plan takes clean paths
 * alone, RESOLVE_BENEATH | launcher without '.', '..' or '//' */
/* SPDX-License-Identifier: MIT */
#include "attack.h"

/* argv: where the path leads to, outside of the tree: did the bind come to lie there? */
int main(int argc, char **argv)
{
	if (argc < 2)
		attack_lacks("a path");
	door(argv[1], access(argv[1], F_OK));
	return attack_end();
}
