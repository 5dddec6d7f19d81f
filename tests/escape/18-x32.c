/* call the kernel by x32 numbers | seccomp refuses the architecture | EPERM */
/* SPDX-License-Identifier: MIT */
#include "attack.h"

#ifdef __x86_64__
int main(void)
{
	long r = syscall(0x40000000L + SYS_getppid);

	if (r < 0 && errno == ENOSYS)
		attack_lacks("an x32 entry in this kernel");
	door("getppid", r);
	return attack_end();
}
#else
int main(void)
{
	attack_lacks("an x86 processor");
}
#endif
