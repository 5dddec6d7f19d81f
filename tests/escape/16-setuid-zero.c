/* become user or group 0 | seccomp, no capability | EPERM */
/* SPDX-License-Identifier: MIT */
#include "attack.h"

#include <grp.h>
#include <sys/fsuid.h>

int main(void)
{
	gid_t none[1] = { 0 };

	door("setuid", syscall(SYS_setuid, 0));
	door("setresuid", syscall(SYS_setresuid, 0, 0, 0));
	door("setreuid", syscall(SYS_setreuid, 0, 0));
	door("setgid", syscall(SYS_setgid, 0));
	door("setresgid", syscall(SYS_setresgid, 0, 0, 0));
	door("setgroups", syscall(SYS_setgroups, 1, none));
	errno = EPERM;
	/* says what it was, or fails by the filter: never 0 for anybody but root */
	door("setfsuid", setfsuid(0) == 0 && setfsuid(0) == 0 ? 0 : -1);
	return attack_end();
}
