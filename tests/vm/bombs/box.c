/* SPDX-License-Identifier: MIT */
/*
 * box.c - be a container's root: box PROGRAM [ARGS]
 *
 * In new cgroup and mount namespaces, with the own cgroup as all of /sys/fs/cgroup.
 */
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	static const char top[] = "/sys/fs/cgroup";

	if (argc < 2 || unshare(CLONE_NEWCGROUP | CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    umount2(top, MNT_DETACH) < 0 ||
	    mount("cgroup2", top, "cgroup2", 0, NULL) < 0) {
		perror("box");
		return 3;
	}
	(void)execv(argv[1], argv + 1);
	perror(argv[1]);
	return 3;
}
