/* the new mount API | seccomp, no capability | EPERM */
/* SPDX-License-Identifier: MIT */
#include "attack.h"

#include <sys/mount.h>

#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif

int main(void)
{
	uint64_t attr[4] = { 0, 1 /* MOUNT_ATTR_RDONLY */, 0, 0 };
	long context;

	attack_spares_the_machine();
	context = syscall(SYS_fsopen, "tmpfs", 0);

	door("fsopen", context);
	door("fsconfig",
	     syscall(SYS_fsconfig, context, 6 /* CMD_CREATE */, NULL, NULL, 0));

	long fs = syscall(SYS_fsmount, context, 0, 0);

	door("fsmount", fs);
	door("move_mount", syscall(SYS_move_mount, fs, "", AT_FDCWD, "/tmp", 4));
	door("mount_setattr",
	     syscall(SYS_mount_setattr, AT_FDCWD, "/tmp", 0, attr, sizeof(attr)));

	/* recursive: in a user namespace, what lies under a mount may not be uncovered */
	long tree = syscall(SYS_open_tree, AT_FDCWD, "/", 1 | AT_RECURSIVE);

	door("open_tree", tree);
	door("fspick", syscall(SYS_fspick, AT_FDCWD, "/tmp", 0));
	return attack_end();
}
