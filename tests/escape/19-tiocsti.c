/* type into the terminal of the caller | seccomp, setsid | EPERM */
/* SPDX-License-Identifier: MIT */
#include "attack.h"

#include <sys/ioctl.h>

#define TIOCLINUX_PASTE 3

/* stdin is a terminal; where it controls us, what we type is the shell's next command */
int main(void)
{
	char key = 'x', paste = TIOCLINUX_PASTE;
	FILE *legacy = fopen("/proc/sys/dev/tty/legacy_tiocsti", "r");

	if (legacy && fgetc(legacy) == '0')
		attack_lacks("dev.tty.legacy_tiocsti=1 on this host");
	if (!isatty(0))
		attack_lacks("a terminal");
	door("TIOCSTI", ioctl(0, TIOCSTI, &key));
	/* the high half does not count for the kernel, and must not for a filter */
	door("TIOCSTI, high half",
	     syscall(SYS_ioctl, 0, 0xffffffff00000000UL | TIOCSTI, &key));
	door("TIOCLINUX", ioctl(0, TIOCLINUX, &paste));
	return attack_end();
}
