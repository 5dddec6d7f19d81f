/* read environment, memory and files of init in /proc | hidepid, init is not dumpable |
 * ENOENT */
/* SPDX-License-Identifier: MIT */
#include "attack.h"

/* argv: "child", or the PID of init */
int main(int argc, char **argv)
{
	static const char *const files[] = { "environ", "mem",   "maps", "fd/0",
					     "root",    "cwd",   "exe",  "cmdline",
					     "status",  "ns/mnt" };

	if (argc < 2)
		attack_lacks("a target");

	pid_t target = attack_target(argv[1]);

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char path[64], link[256];

		(void)snprintf(path, sizeof(path), "/proc/%d/%s", target, files[i]);
		door(path, open(path, O_RDONLY));
		if (i >= 3 && i <= 6)
			door(path, readlink(path, link, sizeof(link)));
	}
	return attack_end();
}
