/* mount(2): new, bind, remount, unmount | seccomp, no capability | EPERM */
/* SPDX-License-Identifier: MIT */
#include "attack.h"

#include <sys/mount.h>

int main(void)
{
	attack_spares_the_machine();
	door("tmpfs", mount("none", "/tmp", "tmpfs", 0, NULL));
	door("proc", mount("none", "/tmp", "proc", 0, NULL));
	door("bind", mount("/", "/tmp", NULL, MS_BIND, NULL));
	door("bind, recursive", mount("/", "/tmp", NULL, MS_BIND | MS_REC, NULL));
	door("remount", mount(NULL, "/tmp", NULL, MS_REMOUNT | MS_BIND, NULL));
	door("propagation", mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	door("umount", umount2("/tmp", MNT_DETACH));
	return attack_end();
}
