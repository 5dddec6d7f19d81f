/* make or open a device node: memory, disk, log | nodev, no capability, /dev of six nodes
 * | EPERM EACCES ENOENT */
/* SPDX-License-Identifier: MIT */
#include "attack.h"

#include <sys/sysmacros.h>

/* argv: a node of null's number that lies in the root tree, and a folder to make one in
 */
int main(int argc, char **argv)
{
	static const char *const nodes[] = { "/dev/mem",    "/dev/kmsg", "/dev/kvm",
					     "/dev/vda",    "/dev/sda",  "/dev/fuse",
					     "/dev/net/tun" };
	char path[4096];

	if (argc < 3)
		attack_lacks("a node and a folder");
	door("the tree's own", open(argv[1], O_RDWR));
	(void)snprintf(path, sizeof(path), "%s/node", argv[2]);
	door("mknod", mknod(path, S_IFCHR | 0666, makedev(1, 3)));
	door("open what mknod made", open(path, O_RDWR));
	(void)unlink(path);
	for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++)
		door(nodes[i], open(nodes[i], O_RDONLY | O_NONBLOCK));
	return attack_end();
}
