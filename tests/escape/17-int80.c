/* call the kernel by the 32-bit entry | seccomp refuses the architecture | EPERM */
/* SPDX-License-Identifier: MIT */
#include "attack.h"

#ifdef __x86_64__
static void no_entry(int signum)
{
	static const char text[] = "a 32-bit entry in this kernel\n";

	(void)signum;
	(void)!write(STDOUT_FILENO, text, sizeof(text) - 1);
	_exit(77);
}

static long int80(long nr)
{
	long r;

	__asm__ volatile("int $0x80"
			 : "=a"(r)
			 : "a"(nr), "b"(0), "c"(0), "d"(0)
			 : "memory");
	if (r >= 0)
		return r;
	errno = (int)-r;
	return -1;
}

int main(void)
{
	(void)signal(SIGSEGV, no_entry);
	door("getpid", int80(20));
	door("getuid", int80(24));
	door("getppid", int80(64));
	return attack_end();
}
#else
int main(void)
{
	attack_lacks("an x86 processor");
}
#endif
