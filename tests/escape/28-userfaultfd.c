/* userfaultfd(2) | seccomp | EPERM */
/* SPDX-License-Identifier: MIT */
#include "attack.h"

#define UFFD_USER_MODE_ONLY 1

int main(void)
{
	long r = syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);

	if (r < 0 && errno == ENOSYS)
		attack_lacks("userfaultfd in this kernel");
	door("user mode", r);
	door("all faults", syscall(SYS_userfaultfd, O_CLOEXEC));
	return attack_end();
}
