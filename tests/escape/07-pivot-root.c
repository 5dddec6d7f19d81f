/* pivot_root and chroot | seccomp, no capability | EPERM */
/* SPDX-License-Identifier: MIT */
#include "attack.h"

#include <sys/mount.h>

int main(void)
{
	attack_spares_the_machine();
	/* what pivot_root needs, where it may be had */
	(void)mount("none", "/tmp", "tmpfs", 0, NULL);
	(void)!chdir("/tmp");
	(void)mkdir("old", 0755);
	door("pivot_root on itself", syscall(SYS_pivot_root, ".", "."));
	door("pivot_root", syscall(SYS_pivot_root, ".", "old"));
	door("chroot", chroot("."));
	return attack_end();
}
